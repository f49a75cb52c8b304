(* Facts about floors, powers and sums that the proofs share. *)
From Coq Require Import Reals ZArith List Lra Lia.
From Coquelicot Require Import Coquelicot.
Require Import semantics.
Open Scope R_scope.

Lemma Int_part_unique : forall (x : R) (z : Z), IZR z <= x -> x < IZR z + 1 -> Int_part x = z.
Proof.
  intros x z H1 H2.
  destruct (base_Int_part x) as [A B].
  assert (L : IZR (Int_part x) < IZR (z + 1)) by (rewrite plus_IZR; lra).
  assert (M : IZR z < IZR (Int_part x + 1)) by (rewrite plus_IZR; lra).
  apply lt_IZR in L. apply lt_IZR in M. lia.
Qed.

Lemma Int_part_IZR : forall z : Z, Int_part (IZR z) = z.
Proof. intros z. apply Int_part_unique; lra. Qed.

Lemma floor_IZR : forall z : Z, floor (IZR z) = IZR z.
Proof. intros z. unfold floor. now rewrite Int_part_IZR. Qed.

Lemma floor_bounds : forall x : R, floor x <= x < floor x + 1.
Proof. intros x. unfold floor. destruct (base_Int_part x). lra. Qed.

Lemma Int_part_nonneg : forall x : R, 0 <= x -> (0 <= Int_part x)%Z.
Proof.
  intros x H. destruct (base_Int_part x) as [A B].
  assert (L : IZR (-1) < IZR (Int_part x)) by lra. apply lt_IZR in L. lia.
Qed.

(* A whole number that is not negative is a natural number. *)
Lemma natural : forall x : R, is_integer x -> 0 <= x -> exists n : nat, x = INR n.
Proof.
  intros x [z ->] H. apply le_IZR in H. exists (Z.to_nat z).
  rewrite INR_IZR_INZ. now rewrite Z2Nat.id.
Qed.

Lemma integer_INR : forall n : nat, is_integer (INR n).
Proof. intros n. exists (Z.of_nat n). apply INR_IZR_INZ. Qed.

(* Powers. *)

Lemma power_IZR : forall (x : R) (z : Z), power x (IZR z) = powerRZ x z.
Proof.
  intros x z. unfold power. rewrite floor_IZR, Int_part_IZR.
  destruct (Req_EM_T (IZR z) (IZR z)); [reflexivity | lra].
Qed.

Lemma power_INR : forall (x : R) (n : nat), power x (INR n) = x ^ n.
Proof. intros x n. rewrite INR_IZR_INZ, power_IZR. symmetry. apply pow_powerRZ. Qed.

Lemma power_0_r : forall x : R, power x 0 = 1.
Proof. intros x. exact (power_INR x 0). Qed.

Lemma power_pos : forall x y : R, 0 < x -> power x y = exp (y * ln x).
Proof.
  intros x y H. unfold power. destruct (Req_EM_T y (floor y)) as [E | E].
  - rewrite E at 2. unfold floor. now rewrite powerRZ_Rpower by exact H.
  - destruct (Rlt_dec 0 x); [reflexivity | contradiction].
Qed.

Lemma power_zero : forall y : R, 0 < y -> power 0 y = 0.
Proof.
  intros y H. unfold power. destruct (Req_EM_T y (floor y)) as [E | E].
  - unfold floor in E. rewrite E in H. apply lt_IZR in H.
    destruct (Int_part y); try lia. simpl. apply pow_i. lia.
  - destruct (Rlt_dec 0 0); [lra | reflexivity].
Qed.

Lemma power_gt_0 : forall x y : R, 0 < x -> 0 < power x y.
Proof. intros x y H. rewrite power_pos by exact H. apply exp_pos. Qed.

Lemma power_ge_0 : forall x y : R, 0 <= x -> 0 <= y -> 0 <= power x y.
Proof.
  intros x y [H | <-] Y; [left; now apply power_gt_0 |].
  destruct Y as [Y | <-]; [rewrite power_zero by exact Y | rewrite power_0_r]; lra.
Qed.

Lemma exp_le : forall x y : R, x <= y -> exp x <= exp y.
Proof. intros x y [H | ->]; [left; now apply exp_increasing | right; reflexivity]. Qed.

Lemma ln_le_mono : forall x y : R, 0 < x -> x <= y -> ln x <= ln y.
Proof. intros x y H [L | ->]; [left; now apply ln_increasing | right; reflexivity]. Qed.

Lemma ln2_pos : 0 < ln 2.
Proof. rewrite <- ln_1. apply ln_increasing; lra. Qed.

(* Sums. *)

Lemma sum_terms_ext : forall (f g : R -> R) (lo lo' : R) (n : nat),
  (forall k : nat, (k < n)%nat -> f (lo + INR k) = g (lo' + INR k)) -> sum_terms f lo n = sum_terms g lo' n.
Proof.
  intros f g lo lo' n. induction n as [| n IH]; intros H; simpl; [reflexivity |].
  rewrite IH by (intros; apply H; lia). now rewrite H by lia.
Qed.

Lemma sum_terms_le : forall (f g : R -> R) (lo lo' : R) (n : nat),
  (forall k : nat, (k < n)%nat -> f (lo + INR k) <= g (lo' + INR k)) -> sum_terms f lo n <= sum_terms g lo' n.
Proof.
  intros f g lo lo' n. induction n as [| n IH]; intros H; simpl; [lra |].
  apply Rplus_le_compat; [apply IH; intros; apply H | apply H]; lia.
Qed.

Lemma sum_terms_scale : forall (f : R -> R) (c lo : R) (n : nat),
  sum_terms (fun i => c * f i) lo n = c * sum_terms f lo n.
Proof. intros f c lo n. induction n as [| n IH]; simpl; [ring |]. rewrite IH. ring. Qed.

Lemma sum_terms_const : forall (c lo : R) (n : nat), sum_terms (fun _ => c) lo n = c * INR n.
Proof. intros c lo n. induction n as [| n IH]; [simpl; ring |]. rewrite S_INR. simpl. rewrite IH. ring. Qed.

Lemma sum_terms_nonneg : forall (f : R -> R) (lo : R) (n : nat),
  (forall k : nat, (k < n)%nat -> 0 <= f (lo + INR k)) -> 0 <= sum_terms f lo n.
Proof.
  intros f lo n H. replace 0 with (sum_terms (fun _ => 0) lo n) by (rewrite sum_terms_const; ring).
  now apply sum_terms_le.
Qed.

Lemma sum_terms_app : forall (f : R -> R) (lo : R) (n m : nat),
  sum_terms f lo (n + m) = sum_terms f lo n + sum_terms f (lo + INR n) m.
Proof.
  intros f lo n m. induction m as [| m IH].
  - rewrite Nat.add_0_r. simpl. ring.
  - rewrite Nat.add_succ_r. simpl. rewrite IH, plus_INR.
    replace (lo + INR n + INR m) with (lo + (INR n + INR m)) by ring. ring.
Qed.

Lemma sum_terms_first : forall (f : R -> R) (lo : R) (n : nat),
  sum_terms f lo (S n) = f lo + sum_terms f (lo + 1) n.
Proof.
  intros f lo n. change (S n) with (1 + n)%nat. rewrite sum_terms_app. simpl.
  now replace (lo + 0) with lo by ring; rewrite Rplus_0_l.
Qed.

Lemma sum_terms_last : forall (f : R -> R) (lo : R) (n : nat),
  sum_terms f lo (S n) = sum_terms f lo n + f (lo + INR n).
Proof. reflexivity. Qed.

Lemma sum_terms_telescope : forall (F f : R -> R) (lo : R) (n : nat),
  (forall k : nat, (k < n)%nat -> f (lo + INR k) = F (lo + INR (S k)) - F (lo + INR k)) ->
  sum_terms f lo n = F (lo + INR n) - F lo.
Proof.
  intros F f lo n. induction n as [| n IH]; intros H.
  - simpl. rewrite Rplus_0_r. ring.
  - simpl sum_terms. rewrite IH by (intros; apply H; lia). rewrite H by lia. ring.
Qed.

Lemma sum_over_Z : forall (a b : Z) (f : R -> R),
  sum_over (IZR a) (IZR b) f = sum_terms f (IZR a) (Z.to_nat (b - a + 1)).
Proof. intros a b f. unfold sum_over. now rewrite <- minus_IZR, Int_part_IZR. Qed.

Lemma sum_over_0_INR : forall (n : nat) (f : R -> R), sum_over 0 (INR n) f = sum_terms f 0 (S n).
Proof.
  intros n f. rewrite INR_IZR_INZ, sum_over_Z. f_equal. lia.
Qed.

(* Sums over 0 .. n - 1, as the catalogue writes them. *)
Lemma sum_over_below : forall (n : nat) (f : R -> R), sum_over 0 (INR n + -1) f = sum_terms f 0 n.
Proof.
  intros n f. rewrite INR_IZR_INZ, <- plus_IZR, sum_over_Z. f_equal. lia.
Qed.

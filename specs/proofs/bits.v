(* Rules about the binary expansion of an integer. *)
From Coq Require Import Reals ZArith List Lra Lia.
From Coquelicot Require Import Coquelicot.
Require Import semantics statements lemmas scalars sums.
Open Scope R_scope.

(* The list of ones: it holds exactly the places of the ones, in increasing order. *)

Lemma nth_succ : forall (l : list Z) (k : nat), (k < length l)%nat -> nth k (map Z.succ l) 0%Z = Z.succ (nth k l 0%Z).
Proof.
  intros l k H. rewrite nth_indep with (d' := Z.succ 0) by now rewrite map_length. apply map_nth.
Qed.

Lemma ones_length : forall p : positive, (0 < length (ones p))%nat.
Proof. induction p as [p IH | p IH |]; simpl; try rewrite map_length; lia. Qed.

Lemma ones_spread : forall (p : positive) (k : nat), (k < length (ones p))%nat -> (Z.of_nat k <= nth k (ones p) 0)%Z.
Proof.
  induction p as [p IH | p IH |]; intros k K; simpl in K; try rewrite map_length in K; simpl ones.
  - destruct k as [| k]; [simpl; lia |]. simpl nth. rewrite nth_succ by lia. specialize (IH k). lia.
  - rewrite nth_succ by lia. specialize (IH k). lia.
  - destruct k; simpl; lia.
Qed.

Lemma ones_are_the_ones : forall (p : positive) (i : Z),
  (0 <= i)%Z -> In i (ones p) <-> Z.testbit (Zpos p) i = true.
Proof.
  induction p as [p IH | p IH |]; intros i I; simpl ones.
  - rewrite Pos2Z.inj_xI. destruct (Z.eq_dec i 0) as [-> | N].
    + rewrite Z.testbit_odd_0. simpl. tauto.
    + replace i with (Z.succ (i - 1)) by lia. rewrite Z.testbit_odd_succ by lia. rewrite <- IH by lia. simpl.
      rewrite in_map_iff. split.
      * intros [E | (x & E & H)]; [lia |]. now replace (i - 1)%Z with x by lia.
      * intros H. right. now exists (i - 1)%Z.
  - rewrite Pos2Z.inj_xO. destruct (Z.eq_dec i 0) as [-> | N].
    + rewrite Z.testbit_even_0. rewrite in_map_iff. split; [| discriminate].
      intros (x & E & H). apply (In_nth _ _ 0%Z) in H. destruct H as (k & K & H).
      generalize (ones_spread p k K). lia.
    + replace i with (Z.succ (i - 1)) by lia. rewrite Z.testbit_even_succ by lia. rewrite <- IH by lia.
      rewrite in_map_iff. split.
      * intros (x & E & H). now replace (i - 1)%Z with x by lia.
      * intros H. now exists (i - 1)%Z.
  - destruct (Z.eq_dec i 0) as [-> | N]; [simpl; tauto |]. destruct i; simpl; lia.
Qed.

Lemma ones_increase : forall (p : positive) (k : nat),
  (S k < length (ones p))%nat -> (nth k (ones p) 0 < nth (S k) (ones p) 0)%Z.
Proof.
  induction p as [p IH | p IH |]; intros k K; simpl in K; try rewrite map_length in K; simpl ones.
  - simpl nth at 2. rewrite nth_succ by lia. destruct k as [| k].
    + simpl. generalize (ones_spread p 0). lia.
    + simpl nth. rewrite nth_succ by lia. specialize (IH k). lia.
  - rewrite !nth_succ by lia. specialize (IH k). lia.
  - lia.
Qed.

(* How many there are. *)

Lemma ones_below : forall p : positive, (2 ^ Z.of_nat (length (ones p)) <= Zpos p + 1)%Z.
Proof.
  induction p as [p IH | p IH |]; simpl length; try rewrite map_length; try lia.
  rewrite Nat2Z.inj_succ, Z.pow_succ_r; lia.
Qed.

Lemma ones_width : forall p : positive, (2 ^ (Z.of_nat (length (ones p)) - 1) <= Zpos p)%Z.
Proof.
  induction p as [p IH | p IH |]; simpl length; try rewrite map_length; try lia.
  generalize (ones_length p). intros L. rewrite Nat2Z.inj_succ.
  replace (Z.succ (Z.of_nat (length (ones p))) - 1)%Z with (Z.succ (Z.of_nat (length (ones p)) - 1)) by lia.
  rewrite Z.pow_succ_r; lia.
Qed.

Lemma pow2_IZR : forall n : nat, 2 ^ n = IZR (2 ^ Z.of_nat n).
Proof. intros n. now rewrite <- pow_IZR. Qed.

Lemma log2_pow : forall n : nat, log2 (2 ^ n) = INR n.
Proof. intros n. unfold log2. rewrite ln_pow by lra. field. apply Rgt_not_eq, ln2_pos. Qed.

Lemma popcount_Z : forall z : Z, popcount (IZR z) = INR (length (ones_of z)).
Proof. intros z. unfold popcount. now rewrite Int_part_IZR. Qed.

Theorem popcount_log2 : popcount_log2_statement.
Proof.
  intros n N [z ->]. rewrite popcount_Z, <- log2_pow, pow2_IZR, <- plus_IZR. apply log2_monotone; apply le_IZR in N.
  - apply IZR_lt. lia.
  - apply IZR_le. destruct z as [| p | p]; [simpl; lia | apply ones_below | lia].
Qed.

Theorem popcount_width : popcount_width_statement.
Proof.
  intros n N [z ->]. apply le_IZR in N. destruct z as [| p | p]; try lia. rewrite popcount_Z.
  change (ones_of (Zpos p)) with (ones p). assert (L := ones_length p). assert (W := ones_width p).
  destruct (length (ones p)) as [| k]; [lia |].
  replace (Z.of_nat (S k) - 1)%Z with (Z.of_nat k) in W by lia. apply IZR_le in W. rewrite <- pow2_IZR in W.
  apply log2_monotone in W; [| apply pow_lt; lra]. rewrite log2_pow in W.
  rewrite S_INR. apply Rplus_le_compat_r. unfold floor. destruct (base_Int_part (log2 (IZR (Zpos p)))) as [A B].
  rewrite INR_IZR_INZ in *. apply IZR_le. assert (C : IZR (Z.of_nat k) < IZR (Int_part (log2 (IZR (Zpos p))) + 1)).
  { rewrite plus_IZR. lra. }
  apply lt_IZR in C. lia.
Qed.

Theorem below_next_power : below_next_power_statement.
Proof.
  intros n N [z ->]. destruct (floor_bounds (log2 (IZR z))) as [_ B]. unfold floor in *.
  assert (P := ln2_pos). assert (L : 0 <= log2 (IZR z)).
  { replace 0 with (log2 1) by (unfold log2; rewrite ln_1; field; lra). apply log2_monotone; lra. }
  assert (K : (0 <= Int_part (log2 (IZR z)) + 1)%Z) by (apply le_IZR; rewrite plus_IZR; lra).
  assert (U : IZR z < power 2 (IZR (Int_part (log2 (IZR z))) + 1)).
  { rewrite power_pos by lra. rewrite <- (exp_ln (IZR z)) at 1 by lra. apply exp_increasing.
    replace (ln (IZR z)) with (log2 (IZR z) * ln 2) at 1 by (unfold log2; field; lra).
    now apply Rmult_lt_compat_r. }
  replace (IZR (Int_part (log2 (IZR z))) + 1) with (INR (Z.to_nat (Int_part (log2 (IZR z)) + 1))) in *
    by (now rewrite INR_IZR_INZ, Z2Nat.id, plus_IZR).
  rewrite power_INR, pow2_IZR in *. rewrite <- plus_IZR. apply lt_IZR in U. apply IZR_le. lia.
Qed.

(* An integer s with 0 <= s <= 2^(R + 1) - 1 has R + 1 digits. *)
Lemma digits : forall s r : R, 0 <= s -> s <= power 2 (r + 1) + -1 -> is_integer s -> is_integer r ->
  exists (z : Z) (n : nat), s = IZR z /\ r + 1 = INR n /\ (0 <= z < 2 ^ Z.of_nat n)%Z.
Proof.
  intros s r S H [z ->] [t ->]. rewrite <- plus_IZR in *. destruct (Z_le_gt_dec 0 (t + 1)) as [T | T].
  - exists z, (Z.to_nat (t + 1)). rewrite INR_IZR_INZ, Z2Nat.id by lia. split; [reflexivity |]. split; [reflexivity |].
    replace (IZR (t + 1)) with (INR (Z.to_nat (t + 1))) in H by (now rewrite INR_IZR_INZ, Z2Nat.id by lia).
    rewrite power_INR, pow2_IZR, Z2Nat.id, <- plus_IZR in H by lia. apply le_IZR in S. apply le_IZR in H. lia.
  - rewrite power_pos in H by lra. assert (exp (IZR (t + 1) * ln 2) < 1); [| lra].
    rewrite <- exp_0. apply exp_increasing. assert (IZR (t + 1) < 0) by (apply IZR_lt; lia).
    generalize ln2_pos. nra.
Qed.

Theorem popcount_digits : popcount_digits_statement.
Proof.
  intros r s S H I J. destruct (digits s r S H I J) as (z & n & -> & -> & Z0 & Z1). rewrite popcount_Z. apply le_INR.
  destruct z as [| p | p]; [simpl; lia | | lia]. change (ones_of (Zpos p)) with (ones p).
  assert (L := ones_length p). assert (W := ones_width p).
  assert (E : (2 ^ (Z.of_nat (length (ones p)) - 1) < 2 ^ Z.of_nat n)%Z) by lia.
  apply Z.pow_lt_mono_r_iff in E; lia.
Qed.

(* Sums over the list of ones. *)

Definition list_sum (l : list Z) (f : R -> R) : R := fold_right (fun z s => f (IZR z) + s) 0 l.

Lemma list_sum_terms : forall (l : list Z) (f h : R -> R) (lo : R),
  (forall k : nat, (k < length l)%nat -> h (lo + INR k) = f (IZR (nth k l 0%Z))) ->
  sum_terms h lo (length l) = list_sum l f.
Proof.
  induction l as [| z l IH]; intros f h lo H; [reflexivity |]. simpl length. rewrite sum_terms_first. simpl list_sum.
  rewrite (IH f).
  - f_equal. generalize (H 0%nat). simpl. rewrite Rplus_0_r. intros E. apply E. lia.
  - intros k K. generalize (H (S k)). rewrite S_INR. simpl. replace (lo + 1 + INR k) with (lo + (INR k + 1)) by ring.
    intros E. apply E. lia.
Qed.

Lemma list_sum_succ : forall (l : list Z) (f : R -> R), list_sum (map Z.succ l) f = list_sum l (fun x => f (x + 1)).
Proof. induction l as [| z l IH]; intros f; [reflexivity |]. simpl. now rewrite IH, succ_IZR. Qed.

Definition digit (z : Z) (k : nat) : R := if Z.testbit z (Z.of_nat k) then 1 else 0.

Lemma bit_digit : forall (z : Z) (k : nat), bit (IZR z) (INR k) = digit z k.
Proof. intros z k. unfold bit. now rewrite INR_IZR_INZ, !Int_part_IZR. Qed.

Lemma sum_digits : forall (n : nat) (z : Z) (f : R -> R), (0 <= z < 2 ^ Z.of_nat n)%Z ->
  sum_terms (fun i => f i * bit (IZR z) i) 0 n = list_sum (ones_of z) f.
Proof.
  induction n as [| n IH]; intros z f [Z0 Z1].
  - simpl in Z1. replace z with 0%Z by lia. reflexivity.
  - rewrite sum_terms_first. rewrite Nat2Z.inj_succ, Z.pow_succ_r in Z1 by lia.
    assert (E : sum_terms (fun i => f i * bit (IZR z) i) (0 + 1) n
                = list_sum (ones_of (Z.div2 z)) (fun x => f (x + 1))).
    { rewrite <- IH.
      - apply sum_terms_ext. intros k K. rewrite !Rplus_0_l.
        replace (1 + INR k) with (INR (S k)) by (rewrite S_INR; ring).
        rewrite !bit_digit. unfold digit. rewrite Z.div2_spec, Z.shiftr_spec by lia.
        replace (Z.of_nat k + 1)%Z with (Z.of_nat (S k)) by lia. now rewrite S_INR, Rplus_comm.
      - rewrite Z.div2_div. split; [apply Z.div_pos; lia | apply Z.div_lt_upper_bound; lia]. }
    rewrite E. change 0 with (INR 0) at 2. rewrite bit_digit. unfold digit.
    destruct z as [| p | p]; [| | lia].
    + simpl. ring.
    + destruct p as [p | p |]; simpl; rewrite ?list_sum_succ; ring.
Qed.

Theorem set_bits : set_bits_statement.
Proof.
  intros r f pos s S H I J P. destruct (digits s r S H I J) as (z & n & -> & N & Z0).
  replace r with (INR n + -1) by lra. rewrite sum_over_below, (sum_digits n z f Z0).
  unfold lists_set_bits in P. rewrite Int_part_IZR in P. rewrite popcount_Z.
  rewrite INR_IZR_INZ, sum_over_Z.
  replace (Z.to_nat (Z.of_nat (length (ones_of z)) - 1 + 1)) with (length (ones_of z)) by lia.
  symmetry. apply list_sum_terms. intros k K. rewrite <- P by exact K. do 2 f_equal. rewrite S_INR. ring.
Qed.

Theorem bits_sum : bits_sum_statement.
Proof.
  intros r s S H I J. destruct (digits s r S H I J) as (z & n & -> & N & Z0).
  replace r with (INR n + -1) by lra. rewrite sum_over_below, popcount_Z.
  rewrite <- (Rmult_1_l (INR _)), <- sum_terms_const with (lo := 0).
  rewrite (list_sum_terms _ (fun _ => 1)) by reflexivity. rewrite <- (sum_digits n z _ Z0).
  apply sum_terms_ext. intros k K. now rewrite Rmult_1_l.
Qed.

Theorem bit_times : bit_times_statement.
Proof. intros k s x X S K I J. unfold bit. destruct (Z.testbit _ _); lra. Qed.

(* Remainders. *)

Lemma modulo_IZR : forall a b : Z, (0 < b)%Z -> modulo (IZR a) (IZR b) = IZR (a mod b).
Proof.
  intros a b B. unfold modulo, floor. assert (P : 0 < IZR b) by now apply IZR_lt.
  assert (D := Z.div_mod a b). assert (M := Z.mod_pos_bound a b B).
  rewrite (Int_part_unique _ (a / b)).
  - rewrite <- mult_IZR, <- minus_IZR. f_equal. lia.
  - apply Rmult_le_reg_r with (IZR b); [exact P |]. unfold Rdiv. rewrite Rmult_assoc, Rinv_l, Rmult_1_r by lra.
    rewrite <- mult_IZR. apply IZR_le. lia.
  - apply Rmult_lt_reg_r with (IZR b); [exact P |]. unfold Rdiv. rewrite Rmult_assoc, Rinv_l, Rmult_1_r by lra.
    rewrite <- plus_IZR, <- mult_IZR. apply IZR_lt. lia.
Qed.

Fixpoint below (l : list Z) (k : nat) : Z :=
  match k with
  | O => 0%Z
  | S j => (below l j + 2 ^ nth j l 0)%Z
  end.

Lemma below_succ : forall (l : list Z) (k : nat), (k <= length l)%nat ->
  (forall j : nat, (j < length l)%nat -> (0 <= nth j l 0)%Z) -> below (map Z.succ l) k = (2 * below l k)%Z.
Proof.
  intros l k. induction k as [| k IH]; intros K P; [reflexivity |]. simpl below.
  rewrite IH by (try lia; exact P). rewrite nth_succ by lia. rewrite Z.pow_succ_r; [ring |]. apply P. lia.
Qed.

Lemma below_cons : forall (l : list Z) (k : nat), below (0%Z :: l) (S k) = (1 + below l k)%Z.
Proof.
  intros l k. induction k as [| k IH]; [reflexivity |].
  change (below (0%Z :: l) (S (S k))) with (below (0%Z :: l) (S k) + 2 ^ nth k l 0)%Z. rewrite IH. cbn [below]. ring.
Qed.

Lemma ones_nonneg : forall (p : positive) (j : nat), (j < length (ones p))%nat -> (0 <= nth j (ones p) 0)%Z.
Proof. intros p j J. generalize (ones_spread p j J). lia. Qed.

Lemma remainder : forall (p : positive) (k : nat), (k < length (ones p))%nat ->
  (Zpos p mod 2 ^ nth k (ones p) 0 = below (ones p) k)%Z.
Proof.
  induction p as [p IH | p IH |]; intros k K; simpl in K; try rewrite map_length in K; simpl ones.
  - destruct k as [| k]; [apply Z.mod_1_r |]. simpl nth. assert (L : (k < length (ones p))%nat) by lia.
    rewrite nth_succ, below_cons, below_succ by (try lia; apply ones_nonneg). rewrite <- IH by exact L.
    assert (N := ones_nonneg p k L). rewrite Z.pow_succ_r by exact N.
    set (m := (2 ^ nth k (ones p) 0)%Z). assert (M : (0 < m)%Z) by (apply Z.pow_pos_nonneg; lia).
    rewrite Pos2Z.inj_xI. symmetry. apply Z.mod_unique_pos with (q := (Zpos p / m)%Z).
    + generalize (Z.mod_pos_bound (Zpos p) m M). lia.
    + generalize (Z.div_mod (Zpos p) m). lia.
  - rewrite nth_succ, below_succ by (try lia; apply ones_nonneg). rewrite <- IH by exact K.
    rewrite Z.pow_succ_r by now apply ones_nonneg. rewrite Pos2Z.inj_xO. apply Z.mul_mod_distr_l; [| lia].
    apply Z.pow_nonzero; [lia | now apply ones_nonneg].
  - destruct k; [reflexivity | simpl in K; lia].
Qed.

Lemma sum_below : forall (l : list Z) (h : R -> R) (lo : R) (k : nat), (k <= length l)%nat ->
  (forall j : nat, (j < length l)%nat -> (0 <= nth j l 0)%Z) ->
  (forall j : nat, (j < length l)%nat -> h (lo + INR j) = IZR (nth j l 0%Z)) ->
  sum_terms (fun j => power 2 (h j)) lo k = IZR (below l k).
Proof.
  intros l h lo k K P H. induction k as [| k IH]; [reflexivity |]. simpl.
  rewrite IH, H, plus_IZR by lia. f_equal. assert (N := P k K).
  rewrite <- (Z2Nat.id _ N), <- INR_IZR_INZ, power_INR. apply pow2_IZR.
Qed.

(* The k-th one of s, counted from 1. *)
Lemma kth_one : forall (k s : R) (pos : R -> R), lists_set_bits pos s ->
  0 <= s -> 1 <= k -> k <= popcount s -> is_integer s -> is_integer k ->
  exists (p : positive) (j : nat), s = IZR (Zpos p) /\ k = INR (S j) /\ (j < length (ones p))%nat /\
    (forall i : nat, (i < length (ones p))%nat -> pos (INR (S i)) = IZR (nth i (ones p) 0%Z)).
Proof.
  intros k s pos P S K L [z ->] J. unfold lists_set_bits in P. rewrite Int_part_IZR in P. rewrite popcount_Z in L.
  destruct (natural k J) as [n ->]; [lra |]. apply INR_le in L. change 1 with (INR 1) in K. apply INR_le in K.
  apply le_IZR in S. destruct z as [| p | p]; [simpl in L; lia | | lia].
  exists p, (n - 1)%nat. repeat split; try assumption; [f_equal; lia | simpl in L; lia].
Qed.

Theorem remainder_below_set_bit : remainder_below_set_bit_statement.
Proof.
  intros k pos s P S0 K L I J. destruct (kth_one k s pos P S0 K L I J) as (p & j & -> & -> & N & Q).
  rewrite Q by exact N. assert (M := ones_nonneg p j N).
  rewrite <- (Z2Nat.id _ M), <- INR_IZR_INZ, power_INR, pow2_IZR, Z2Nat.id by exact M.
  rewrite modulo_IZR by (apply Z.pow_pos_nonneg; lia). rewrite remainder by exact N.
  rewrite INR_IZR_INZ, <- plus_IZR, sum_over_Z. replace (Z.to_nat (Z.of_nat (S j) + -1 - 1 + 1)) with j by lia.
  symmetry. apply sum_below; [lia | intros; now apply ones_nonneg |].
  intros i H. rewrite <- Q by exact H. f_equal. rewrite S_INR. ring.
Qed.

Theorem remainder_all_ones : remainder_all_ones_statement.
Proof.
  intros k n K L I J. destruct (natural k I K) as [a ->]. destruct (natural n J) as [b ->]; [lra |].
  apply INR_le in L. rewrite !power_INR, !pow2_IZR, <- !plus_IZR.
  rewrite modulo_IZR by (apply Z.pow_pos_nonneg; lia). f_equal. symmetry.
  apply Z.mod_unique_pos with (q := (2 ^ Z.of_nat (b - a) - 1)%Z).
  - assert (0 < 2 ^ Z.of_nat a)%Z by (apply Z.pow_pos_nonneg; lia). lia.
  - replace (Z.of_nat b) with (Z.of_nat a + Z.of_nat (b - a))%Z by lia. rewrite Z.pow_add_r by lia. ring.
Qed.

Theorem set_bits_apart : set_bits_apart_statement.
Proof.
  intros k pos s P S0 K L I J. destruct (kth_one k s pos P S0 K L I J) as (p & j & -> & -> & N & Q).
  rewrite Q by exact N. apply Rle_trans with (INR j); [rewrite S_INR; lra |].
  rewrite INR_IZR_INZ. apply IZR_le. now apply ones_spread.
Qed.

Theorem power_of_two_grows : power_of_two_grows_statement.
Proof.
  intros k K I. destruct (natural k I K) as [n ->]. rewrite power_INR. clear K I.
  induction n as [| n IH]; [simpl; lra |]. rewrite S_INR. simpl. generalize (pos_INR n). lra.
Qed.

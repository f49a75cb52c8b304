(* Rules about the convolution of two geometric sequences, sums over blocks, functions on an interval, and binomials. *)
From Coq Require Import Reals ZArith Lra Lia.
From Coquelicot Require Import Coquelicot.
Require Import semantics statements lemmas scalars sums.
Open Scope R_scope.

(* The convolution c_n = sum over j < n of u^j v^(n - 1 - j), as the statements write it. *)
Definition conv (u v m : R) : R := sum_over 0 (m + -1) (fun j => power u j * power v (m + -1 * j + -1)).

Lemma conv_below : forall (u v : R) (n : nat),
  conv u v (INR n) = sum_terms (fun j => power u j * power v (INR n + -1 * j + -1)) 0 n.
Proof. intros u v n. apply sum_over_below. Qed.

Lemma conv_0 : forall u v : R, conv u v 0 = 0.
Proof. intros u v. exact (conv_below u v 0). Qed.

Lemma conv_next : forall (u v : R) (n : nat), conv u v (INR (S n)) = u * conv u v (INR n) + v ^ n.
Proof.
  intros u v n. rewrite !conv_below, sum_terms_first, <- sum_terms_scale, Rplus_comm. f_equal.
  - apply sum_terms_ext. intros k K. rewrite S_INR, !Rplus_0_l.
    replace (1 + INR k) with (INR (S k)) by (rewrite S_INR; ring).
    rewrite !power_INR.
    replace (INR n + 1 + -1 * INR (S k) + -1) with (INR n + -1 * INR k + -1) by (rewrite S_INR; ring).
    simpl. ring.
  - replace (INR (S n) + -1 * 0 + -1) with (INR n) by (rewrite S_INR; ring).
    rewrite power_0_r, power_INR. ring.
Qed.

Theorem convolution_next : convolution_next_statement.
Proof.
  intros m u v M I. destruct (natural m I M) as [n ->]. fold (conv u v (INR n)).
  rewrite power_INR, <- conv_next, conv_below, sum_over_0_INR. apply sum_terms_ext. intros k K.
  do 2 f_equal. rewrite S_INR. ring.
Qed.

Theorem convolution_nonnegative : convolution_nonnegative_statement.
Proof.
  intros m u v U V I. fold (conv u v m). destruct (Rle_dec 0 m) as [H | H].
  - destruct (natural m I H) as [n ->]. clear H I.
    induction n as [| n IH]; [simpl; rewrite conv_0; lra |]. rewrite conv_next.
    apply Rplus_le_le_0_compat; [now apply Rmult_le_pos | now apply pow_le].
  - unfold conv. destruct I as [z ->]. apply Rnot_le_lt, lt_IZR in H. right. symmetry.
    apply empty_sum; [| now exists 0%Z | exists (z + -1)%Z; now rewrite plus_IZR].
    rewrite <- !plus_IZR. apply IZR_le. lia.
Qed.

Lemma power_double : forall (v : R) (n : nat), power v (2 * INR n) = v ^ n * v ^ n.
Proof.
  intros v n. replace (2 * INR n) with (INR (n + n)) by (rewrite plus_INR; ring).
  rewrite power_INR. apply pow_add.
Qed.

(* A sum over 0 .. m - 1 whose terms are differences of a sequence. *)
Lemma telescope : forall (F f : R -> R) (n : nat),
  (forall k : nat, f (INR k) = F (INR (S k)) - F (INR k)) -> sum_over 0 (INR n + -1) f = F (INR n) - F 0.
Proof.
  intros F f n H. rewrite sum_over_below, sum_terms_telescope with (F := F).
  - now rewrite Rplus_0_l.
  - intros k _. now rewrite !Rplus_0_l.
Qed.

Theorem convolution_squares : convolution_squares_statement.
Proof.
  intros a b d m p r s u v P Q S M I. destruct (natural m I M) as [n ->]. fold (conv u v (INR n)).
  rewrite telescope with (F := fun i => - (a * conv u v i ^ 2 + b * conv u v i * power v i + d * power v (2 * i))).
  - rewrite conv_0. replace (2 * 0) with 0 by ring. rewrite !power_0_r. ring.
  - intros k. fold (conv u v (INR k)). rewrite conv_next, !power_double, !power_INR, <- P, <- Q, <- S. simpl. ring.
Qed.

Theorem convolution_increments : convolution_increments_statement.
Proof.
  intros m u v M I. destruct (natural m I M) as [n ->]. fold (conv u v (INR n)).
  rewrite telescope with (F := fun i => conv u v i ^ 2).
  - rewrite conv_0. ring.
  - intros k. fold (conv u v (INR k)). rewrite conv_next, power_double, power_INR. ring.
Qed.

Theorem convolution_sum : convolution_sum_statement.
Proof.
  intros a d m p s u v P S M I. destruct (natural m I M) as [n ->]. fold (conv u v (INR n)).
  rewrite telescope with (F := fun i => - (a * conv u v i + d * power v i)).
  - rewrite conv_0, power_0_r. ring.
  - intros k. fold (conv u v (INR k)). rewrite conv_next, !power_INR, <- P, <- S. simpl. ring.
Qed.

Theorem arithmetic_geometric : arithmetic_geometric_statement.
Proof.
  intros m x N M I. destruct (natural m I M) as [n ->]. rewrite sum_over_0_INR, power_INR. clear M I.
  induction n as [| n IH].
  - simpl. field. lra.
  - set (f := fun i => i * power x (INR n + -1 * i)) in IH.
    assert (E : sum_terms (fun i => i * power x (INR (S n) + -1 * i)) 0 (S n) = x * sum_terms f 0 (S n)).
    { rewrite <- sum_terms_scale. apply sum_terms_ext. intros k K. unfold f. rewrite Rplus_0_l.
      replace (INR (S n) + -1 * INR k) with (INR (S (n - k))) by (rewrite S_INR, S_INR, minus_INR by lia; ring).
      replace (INR n + -1 * INR k) with (INR (n - k)) by (rewrite minus_INR by lia; ring).
      rewrite !power_INR. simpl. ring. }
    change (sum_terms (fun i => i * power x (INR (S n) + -1 * i)) 0 (S n)
            + (0 + INR (S n)) * power x (INR (S n) + -1 * (0 + INR (S n)))
            = / (1 + -1 * x) * (INR (S n) + -1 * x * / (1 + -1 * x) * (1 + -1 * x ^ S n))).
    rewrite E, IH. replace (INR (S n) + -1 * (0 + INR (S n))) with 0 by ring.
    rewrite power_0_r, S_INR. simpl. field. lra.
Qed.

Theorem sum_integers : sum_integers_statement.
Proof.
  intros m M I. destruct (natural m I M) as [n ->]. rewrite sum_over_0_INR. clear M I.
  induction n as [| n IH]; [simpl; lra |].
  change (sum_terms (fun i => i) 0 (S n) + (0 + INR (S n)) = 1 / 2 * INR (S n) * (INR (S n) + 1)).
  rewrite IH, S_INR. field.
Qed.

(* Blocks: n whole blocks make n times the sum, and what is left of one more is at most n times its term. *)
Lemma block : forall (f : R -> R) (n q r : nat), (r <= n)%nat -> (0 < n)%nat ->
  sum_terms (fun t => f (floor (t * / INR n))) (INR (n * q)) r = INR r * f (INR q).
Proof.
  intros f n q r H N. rewrite Rmult_comm, <- sum_terms_const with (lo := INR (n * q)).
  apply sum_terms_ext. intros k K. f_equal. unfold floor. rewrite (INR_IZR_INZ q). f_equal.
  assert (P : 0 < INR n) by now apply lt_0_INR. rewrite <- plus_INR.
  apply Int_part_unique; rewrite <- INR_IZR_INZ.
  - apply Rmult_le_reg_r with (INR n); [exact P |]. rewrite Rmult_assoc, Rinv_l, Rmult_1_r by lra.
    rewrite <- mult_INR. apply le_INR. lia.
  - apply Rmult_lt_reg_r with (INR n); [exact P |]. rewrite Rmult_assoc, Rinv_l, Rmult_1_r by lra.
    rewrite <- S_INR, <- mult_INR. apply lt_INR. nia.
Qed.

Lemma blocks : forall (f : R -> R) (n q : nat), (0 < n)%nat ->
  sum_terms (fun t => f (floor (t * / INR n))) 0 (n * q) = INR n * sum_terms f 0 q.
Proof.
  intros f n q N. induction q as [| q IH].
  - rewrite Nat.mul_0_r. simpl. ring.
  - rewrite Nat.mul_succ_r, sum_terms_app, IH, Rplus_0_l, block by lia. simpl. rewrite Rplus_0_l. ring.
Qed.

Theorem sum_by_blocks : sum_by_blocks_statement.
Proof.
  intros f n top F N I J T. destruct (natural n I) as [k ->]; [lra |]. destruct (natural top J T) as [t ->].
  assert (K : (0 < k)%nat) by (apply INR_lt; simpl; lra). assert (P : 0 < INR k) by now apply lt_0_INR.
  assert (G : forall j : nat, 0 <= f (INR j)) by (intros j; apply F; [apply integer_INR | apply pos_INR]).
  set (q := (t / k)%nat). assert (D := Nat.div_mod t k). assert (B := Nat.mod_upper_bound t k).
  assert (Q : floor (/ INR k * INR t) = INR q).
  { unfold floor. rewrite (INR_IZR_INZ q). f_equal. apply Int_part_unique; rewrite <- INR_IZR_INZ.
    - apply Rmult_le_reg_l with (INR k); [exact P |]. rewrite <- Rmult_assoc, Rinv_r, Rmult_1_l by lra.
      rewrite <- mult_INR. apply le_INR. unfold q. lia.
    - apply Rmult_lt_reg_l with (INR k); [exact P |]. rewrite <- Rmult_assoc, Rinv_r, Rmult_1_l by lra.
      rewrite <- S_INR, <- mult_INR. apply lt_INR. unfold q. nia. }
  rewrite Q, sum_over_0_INR, <- blocks by exact K. rewrite (INR_IZR_INZ t), sum_over_Z.
  set (g := fun s => f (floor (s * / INR k))).
  replace (Z.to_nat (Z.of_nat t - 1 + 1)) with t by lia.
  assert (Z0 : floor (0 * / INR k) = INR 0) by (rewrite Rmult_0_l; apply (floor_IZR 0)).
  apply Rle_trans with (sum_terms g 0 (S t)).
  { rewrite sum_terms_first, Rplus_0_l. unfold g at 2. rewrite Z0. generalize (G 0%nat). simpl. lra. }
  replace (k * S q)%nat with (S t + (k * S q - S t))%nat by (unfold q; nia).
  rewrite sum_terms_app. rewrite <- (Rplus_0_r (sum_terms g 0 (S t))) at 1.
  apply Rplus_le_compat_l, sum_terms_nonneg. intros j J0. unfold g.
  rewrite Rplus_0_l, <- plus_INR. apply F; [unfold floor; now eexists |].
  unfold floor. change 0 with (IZR 0). apply IZR_le, Int_part_nonneg.
  apply Rmult_le_pos; [apply pos_INR | left; now apply Rinv_0_lt_compat].
Qed.

Theorem equal_arguments : equal_arguments_statement.
Proof. intros f a b H A B. now rewrite H. Qed.

Theorem power_chord : power_chord_statement.
Proof.
  intros d x y X Y L D. destruct (Req_dec y 0) as [-> | N]; [rewrite power_0_r; lra |].
  assert (T : 0 <= y / d <= 1).
  { split; [apply Rmult_le_pos; [exact Y | left; now apply Rinv_0_lt_compat] |].
    apply Rmult_le_reg_r with d; [exact D |]. unfold Rdiv. rewrite Rmult_assoc, Rinv_l; lra. }
  replace (1 + -1 * / d * y * (1 + -1 * power x d)) with ((1 - y / d) * 1 + y / d * power x d) by (unfold Rdiv; ring).
  destruct X as [X | <-].
  - rewrite !power_pos by exact X. generalize (exp_convex (y / d) 0 (d * ln x) T). rewrite exp_0.
    now replace ((1 - y / d) * 0 + y / d * (d * ln x)) with (y * ln x) by (field; lra).
  - rewrite !power_zero by lra. lra.
Qed.

Theorem bernstein : bernstein_statement.
Proof.
  intros a b high low x (W & n & beta & P & E) L U. apply Rminus_le_0. rewrite E. clear E.
  set (t := (x - low) / (high - low)).
  assert (T : 0 <= t <= 1).
  { unfold t. split; [apply Rmult_le_pos; [lra | left; apply Rinv_0_lt_compat; lra] |].
    apply Rmult_le_reg_r with (high - low); [lra |]. unfold Rdiv. rewrite Rmult_assoc, Rinv_l; lra. }
  assert (S : forall m : nat, (m <= n)%nat ->
    0 <= sum_f_R0 (fun k => beta k * Binomial.C n k * t ^ k * (1 - t) ^ (n - k)) m).
  { assert (G : forall k : nat, (k <= n)%nat -> 0 <= beta k * Binomial.C n k * t ^ k * (1 - t) ^ (n - k)).
    { intros k K. repeat apply Rmult_le_pos; try (apply pow_le; lra); [now apply P | apply pos_INR |].
      left. apply Rinv_0_lt_compat, Rmult_lt_0_compat; apply INR_fact_lt_0. }
    induction m as [| m IH]; intros M; [apply (G 0%nat M) |].
    simpl sum_f_R0. apply Rplus_le_le_0_compat; [apply IH; lia | now apply G]. }
  now apply S.
Qed.

Lemma binomial_nat : forall n k : nat, binomial (INR n) (INR k) = if (k <=? n)%nat then Binomial.C n k else 0.
Proof.
  intros n k. unfold binomial. rewrite !INR_IZR_INZ, !Int_part_IZR, !Nat2Z.id.
  replace (0 <=? Z.of_nat k)%Z with true by (symmetry; apply Z.leb_le; lia). simpl andb.
  destruct (Nat.leb_spec k n), (Z.leb_spec (Z.of_nat k) (Z.of_nat n)); try reflexivity; lia.
Qed.

Theorem binomial_zero : binomial_zero_statement.
Proof.
  intros n N I. destruct (natural n I N) as [m ->].
  replace 0 with (INR 0) by reflexivity. rewrite binomial_nat. simpl. unfold Binomial.C. rewrite Nat.sub_0_r.
  simpl. field. apply INR_fact_neq_0.
Qed.

Theorem binomial_next : binomial_next_statement.
Proof.
  intros k n N K I J. destruct (natural n I N) as [m ->], (natural k J K) as [i ->].
  rewrite <- S_INR, !binomial_nat.
  destruct (Nat.leb_spec (S i) m) as [L | L], (Nat.leb_spec i m) as [M | M]; try lia.
  - rewrite pascal_step3 by lia. rewrite minus_INR by lia. unfold Rdiv. ring.
  - replace m with i by lia. ring.
  - ring.
Qed.

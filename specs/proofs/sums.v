(* Rules about sums: geometric ones, and sums of any summand. *)
From Coq Require Import Reals ZArith Lra Lia.
From Coquelicot Require Import Coquelicot.
Require Import semantics statements lemmas scalars.
Open Scope R_scope.

(* The range lo .. hi as integers. *)
Ltac integers := repeat match goal with H : is_integer ?x |- _ => let z := fresh x in destruct H as [z ->] end.

(* The k-th index of a range is one of its integers. *)
Lemma in_range : forall (a b : Z) (k : nat),
  (k < Z.to_nat (b - a + 1))%nat ->
  is_integer (IZR a + INR k) /\ IZR a <= IZR a + INR k /\ IZR a + INR k <= IZR b.
Proof.
  intros a b k H. rewrite INR_IZR_INZ, <- plus_IZR. split; [now eexists |].
  split; apply IZR_le; lia.
Qed.

Lemma geometric_terms : forall (x : R) (n : nat), (1 - x) * sum_terms (fun i => power x i) 0 n = 1 - x ^ n.
Proof.
  intros x n. induction n as [| n IH]; simpl; [ring |].
  rewrite Rmult_plus_distr_l, IH, Rplus_0_l, power_INR. ring.
Qed.

Lemma geometric_is_series : forall x : R, 0 <= x < 1 -> is_series (fun n => power x (0 + INR n)) (/ (1 - x)).
Proof.
  intros x H. apply is_series_ext with (a := fun n => x ^ n).
  - intros n. now rewrite Rplus_0_l, power_INR.
  - apply is_series_geom. rewrite Rabs_pos_eq; lra.
Qed.

Theorem geometric_series : geometric_series_statement.
Proof.
  intros x X U. assert (H := geometric_is_series x (conj X U)). split.
  - now exists (/ (1 - x)).
  - unfold series. rewrite (is_series_unique _ _ H). f_equal. ring.
Qed.

Theorem geometric_sum : geometric_sum_statement.
Proof.
  intros m x N M I. destruct (natural m I M) as [n ->]. rewrite sum_over_below, power_INR.
  generalize (geometric_terms x n). intros E. apply Rmult_eq_reg_l with (1 - x); [| lra]. rewrite E. field. lra.
Qed.

Theorem geometric_sum_bound : geometric_sum_bound_statement.
Proof.
  intros m x X U [z ->]. change 0 with (IZR 0). rewrite sum_over_Z.
  assert (E := geometric_terms x (Z.to_nat (z - 0 + 1))). set (s := sum_terms _ _ _) in *.
  assert (P : 0 <= x ^ (Z.to_nat (z - 0 + 1))) by now apply pow_le.
  apply Rmult_le_reg_l with (1 - x); [lra |]. rewrite E. replace (1 + -1 * x) with (1 - x) by ring.
  rewrite Rinv_r; lra.
Qed.

Theorem sum_termwise : sum_termwise_statement.
Proof.
  intros f g hi lo H L U. integers. rewrite !sum_over_Z. apply sum_terms_le. intros k K.
  destruct (in_range _ _ _ K) as (A & B & C). now apply H.
Qed.

Lemma count_terms : forall a b : Z, 0 <= IZR b + 1 + -1 * IZR a -> IZR b + 1 + -1 * IZR a = INR (Z.to_nat (b - a + 1)).
Proof.
  intros a b H. rewrite <- mult_IZR, <- !plus_IZR in *. apply le_IZR in H.
  rewrite INR_IZR_INZ, Z2Nat.id by lia. f_equal. lia.
Qed.

Theorem sum_at_most : sum_at_most_statement.
Proof.
  intros c f hi lo H N L U. integers. rewrite sum_over_Z, (count_terms _ _ N), <- sum_terms_const with (lo := IZR lo0).
  apply sum_terms_le. intros k K. destruct (in_range _ _ _ K) as (A & B & C). now apply H.
Qed.

Theorem sum_extend : sum_extend_statement.
Proof.
  intros f hi lo more H M L U V. integers. rewrite !sum_over_Z. apply le_IZR in M.
  replace (Z.to_nat (more0 - lo0 + 1)) with
    (Z.to_nat (hi0 - lo0 + 1) + (Z.to_nat (more0 - lo0 + 1) - Z.to_nat (hi0 - lo0 + 1)))%nat by lia.
  rewrite sum_terms_app. rewrite <- (Rplus_0_r (sum_terms _ _ (Z.to_nat (hi0 - lo0 + 1)))) at 1.
  apply Rplus_le_compat_l, sum_terms_nonneg. intros k K. rewrite Rplus_assoc, <- plus_INR.
  destruct (in_range lo0 more0 (Z.to_nat (hi0 - lo0 + 1) + k)) as (A & B & C); [lia |]. now apply H.
Qed.

Theorem sum_split_first : sum_split_first_statement.
Proof.
  intros f hi lo H L U. integers. apply le_IZR in H. rewrite <- plus_IZR, !sum_over_Z.
  replace (Z.to_nat (hi0 - lo0 + 1)) with (S (Z.to_nat (hi0 - (lo0 + 1) + 1))) by lia.
  rewrite sum_terms_first. now rewrite plus_IZR.
Qed.

Theorem sum_split : sum_split_statement.
Proof.
  intros f hi lo m L H I J K. integers. rewrite <- plus_IZR in L. apply le_IZR in L. apply le_IZR in H.
  rewrite <- plus_IZR, !sum_over_Z.
  replace (Z.to_nat (hi0 - lo0 + 1)) with (Z.to_nat (m0 - lo0 + 1) + Z.to_nat (hi0 - (m0 + 1) + 1))%nat by lia.
  rewrite sum_terms_app. f_equal. f_equal.
  rewrite INR_IZR_INZ, Z2Nat.id by lia. rewrite <- plus_IZR. f_equal. lia.
Qed.

Theorem sum_scale : sum_scale_statement.
Proof. intros c f hi lo L H. integers. rewrite !sum_over_Z. apply sum_terms_scale. Qed.

Lemma sum_terms_reverse : forall (f : R -> R) (lo : R) (n : nat),
  sum_terms f lo n = sum_terms (fun i => f (lo + (INR n - 1) + lo - i)) lo n.
Proof.
  intros f lo n. revert lo. induction n as [| n IH]; intros lo; [reflexivity |].
  rewrite sum_terms_first, sum_terms_last, (IH (lo + 1)), Rplus_comm. f_equal.
  - apply sum_terms_ext. intros k K. f_equal. rewrite S_INR. ring.
  - f_equal. rewrite S_INR. ring.
Qed.

Theorem sum_reverse : sum_reverse_statement.
Proof.
  intros f hi lo L U. integers. rewrite !sum_over_Z. rewrite sum_terms_reverse.
  apply sum_terms_ext. intros k K. f_equal.
  replace (INR (Z.to_nat (hi0 - lo0 + 1))) with (IZR hi0 - IZR lo0 + 1); [ring |].
  rewrite INR_IZR_INZ, Z2Nat.id by lia. now rewrite plus_IZR, minus_IZR.
Qed.

Theorem empty_sum : empty_sum_statement.
Proof.
  intros f hi lo H L U. integers. rewrite <- plus_IZR in H. apply le_IZR in H. rewrite sum_over_Z.
  replace (Z.to_nat (hi0 - lo0 + 1)) with 0%nat by lia. reflexivity.
Qed.

Theorem guarded_sum : guarded_sum_statement.
Proof.
  intros f hi lo L U. destruct (Rle_dec lo hi) as [H | H]; [reflexivity |].
  symmetry. apply empty_sum; try assumption. integers. apply Rnot_le_lt, lt_IZR in H.
  rewrite <- plus_IZR. apply IZR_le. lia.
Qed.

Theorem convolution_from_end : convolution_from_end_statement.
Proof.
  intros c hi x C I. destruct (Rle_dec 0 hi) as [H | H].
  - destruct (natural hi I H) as [n ->]. rewrite (sum_reverse _ (INR n) 0); [| now exists 0%Z | apply integer_INR].
    rewrite !sum_over_0_INR, <- sum_terms_scale. apply sum_terms_ext. intros k K.
    rewrite !power_pos with (x := c) by exact C. rewrite <- Rmult_assoc, <- exp_plus.
    f_equal; f_equal; ring.
  - rewrite !empty_sum; try assumption; try (now exists 0%Z); [ring | |];
      destruct I as [z ->]; apply Rnot_le_lt, lt_IZR in H; rewrite <- plus_IZR; apply IZR_le; lia.
Qed.

Theorem sum_constant : sum_constant_statement.
Proof.
  intros c hi lo N L U. integers. rewrite sum_over_Z, (count_terms _ _ N). apply sum_terms_const.
Qed.

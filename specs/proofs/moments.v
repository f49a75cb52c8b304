(* Rules about vectors of a finite dimension, and about the mean of their norms. *)
From Coq Require Import Reals ZArith Lra Lia.
From Coquelicot Require Import Coquelicot.
Require Import semantics statements lemmas.
Open Scope R_scope.

Section Vectors.
Variables (u w : vector).

Lemma inner_nonneg : forall (dim : nat) (x : vector), 0 <= inner dim x x.
Proof. intros dim x. induction dim as [| n IH]; simpl; nra. Qed.

Lemma inner_sum : forall (dim : nat) (t : R),
  inner dim (fun i => u i + t * w i) (fun i => u i + t * w i)
  = inner dim u u + 2 * t * inner dim u w + t ^ 2 * inner dim w w.
Proof. intros dim t. induction dim as [| n IH]; simpl; [ring |]. rewrite IH. ring. Qed.

Lemma inner_plus : forall dim : nat,
  inner dim (plus_vector u w) (plus_vector u w) = inner dim u u + 2 * inner dim u w + inner dim w w.
Proof. intros dim. unfold plus_vector. induction dim as [| n IH]; simpl; [ring |]. rewrite IH. ring. Qed.

(* A quadratic that is nowhere negative has no positive discriminant. *)
Lemma discriminant : forall a b c : R, (forall t : R, 0 <= a + 2 * t * b + t ^ 2 * c) -> 0 <= a -> 0 <= c ->
  b <= sqrt a * sqrt c.
Proof.
  intros a b c H A C. rewrite <- sqrt_mult by assumption. apply Rle_trans with (Rabs b); [apply Rle_abs |].
  rewrite <- sqrt_Rsqr_abs. apply sqrt_le_1_alt. unfold Rsqr. destruct C as [C | <-].
  - specialize (H (- b / c)).
    replace (a + 2 * (- b / c) * b + (- b / c) ^ 2 * c) with ((a * c - b * b) * / c) in H by (field; lra).
    apply Rmult_le_compat_r with (r := c) in H; [| lra]. rewrite Rmult_assoc, Rinv_l in H by lra. lra.
  - destruct (Req_dec b 0) as [-> | N]; [lra |]. specialize (H (- (a + 1) / (2 * b))).
    replace (a + 2 * (- (a + 1) / (2 * b)) * b + (- (a + 1) / (2 * b)) ^ 2 * 0) with (- 1) in H by (field; lra). lra.
Qed.

Lemma euclid_square : forall (dim : nat) (x : vector), euclid dim x ^ 2 = inner dim x x.
Proof. intros dim x. unfold euclid. apply pow2_sqrt, inner_nonneg. Qed.

Lemma euclid_nonneg : forall (dim : nat) (x : vector), 0 <= euclid dim x.
Proof. intros dim x. apply sqrt_pos. Qed.

Lemma inner_le : forall dim : nat, inner dim u w <= euclid dim u * euclid dim w.
Proof.
  intros dim. apply discriminant; try apply inner_nonneg. intros t. rewrite <- inner_sum. apply inner_nonneg.
Qed.

Lemma euclid_plus : forall dim : nat, euclid dim (plus_vector u w) <= euclid dim u + euclid dim w.
Proof.
  intros dim. assert (U := euclid_nonneg dim u). assert (W := euclid_nonneg dim w).
  rewrite <- (sqrt_pow2 (euclid dim u + euclid dim w)) by lra. apply sqrt_le_1_alt.
  rewrite inner_plus. assert (I := inner_le dim). generalize (euclid_square dim u) (euclid_square dim w). nra.
Qed.

Lemma inner_self_plus : forall dim : nat, inner dim u (plus_vector u w) = inner dim u u + inner dim u w.
Proof. intros dim. unfold plus_vector. induction dim as [| n IH]; simpl; [ring |]. rewrite IH. ring. Qed.

Lemma inner_ge : forall dim : nat, - inner dim u w <= euclid dim u * euclid dim w.
Proof.
  intros dim. apply discriminant; try apply inner_nonneg. intros t.
  replace (inner dim u u + 2 * t * - inner dim u w + t ^ 2 * inner dim w w)
    with (inner dim u u + 2 * - t * inner dim u w + (- t) ^ 2 * inner dim w w) by ring.
  rewrite <- inner_sum. apply inner_nonneg.
Qed.

Lemma euclid_minus : forall dim : nat, euclid dim u - euclid dim w <= euclid dim (plus_vector u w).
Proof.
  intros dim. destruct (Rle_dec (euclid dim u) (euclid dim w)) as [L | L].
  - generalize (euclid_nonneg dim (plus_vector u w)). lra.
  - rewrite <- (sqrt_pow2 (euclid dim u - euclid dim w)) by lra. apply sqrt_le_1_alt.
    rewrite inner_plus. assert (I := inner_ge dim). generalize (euclid_square dim u) (euclid_square dim w). nra.
Qed.

End Vectors.

Theorem cauchy_schwarz : cauchy_schwarz_statement.
Proof. intros dim u w. apply inner_le. Qed.

Theorem norm_triangle : norm_triangle_statement.
Proof. intros dim u w. apply euclid_plus. Qed.

Theorem norm_square : norm_square_statement.
Proof. intros dim u w. rewrite !euclid_square, inner_plus. ring. Qed.

Theorem inner_of_sum : inner_of_sum_statement.
Proof. intros dim u w. rewrite euclid_square, inner_self_plus. ring. Qed.

Theorem norm_difference : norm_difference_statement.
Proof. intros dim u w. generalize (euclid_minus u w dim). lra. Qed.

(* Means of norms. *)

Section Means.
Variables (P : probability) (dim : nat).

Lemma measurable_inner : forall (n : nat) (u w : outcome P -> vector),
  (forall i : nat, (i < n)%nat -> measurable P (fun o => u o i)) ->
  (forall i : nat, (i < n)%nat -> measurable P (fun o => w o i)) -> measurable P (fun o => inner n (u o) (w o)).
Proof.
  intros n u w U W. induction n as [| n IH]; simpl; [apply measurable_constant |].
  apply measurable_plus; [apply IH; intros; [apply U | apply W]; lia |].
  apply measurable_times; [apply U | apply W]; lia.
Qed.

Lemma measurable_norm : forall u, random_vector P dim u -> measurable P (fun o => euclid dim (u o)).
Proof. intros u [U _]. apply measurable_sqrt. now apply measurable_inner. Qed.

Lemma norm_has_mean : forall u, random_vector P dim u -> has_mean P (fun o => euclid dim (u o)).
Proof.
  intros u H. apply bounded_has_mean with (g := fun o => 1 + euclid dim (u o) ^ 2).
  - now apply measurable_norm.
  - apply plus_has_mean; [apply constant_has_mean | apply H].
  - intros o. generalize (euclid_nonneg dim (u o)). intros N. rewrite Rabs_pos_eq by exact N. nra.
Qed.

Lemma product_has_mean : forall u w, random_vector P dim u -> random_vector P dim w ->
  has_mean P (fun o => euclid dim (u o) * euclid dim (w o)).
Proof.
  intros u w U W. apply bounded_has_mean with (g := fun o => euclid dim (u o) ^ 2 + euclid dim (w o) ^ 2).
  - apply measurable_times; now apply measurable_norm.
  - apply plus_has_mean; [apply U | apply W].
  - intros o. generalize (euclid_nonneg dim (u o)) (euclid_nonneg dim (w o)). intros M N.
    rewrite Rabs_pos_eq by now apply Rmult_le_pos. nra.
Qed.

Lemma random_plus : forall u w, random_vector P dim u -> random_vector P dim w ->
  random_vector P dim (plus_random P u w).
Proof.
  intros u w U W. assert (M : forall i : nat, (i < dim)%nat -> measurable P (fun o => plus_random P u w o i)).
  { intros i I. apply measurable_plus; [now apply U | now apply W]. }
  split; [exact M |].
  apply bounded_has_mean with (g := fun o => 2 * (euclid dim (u o) ^ 2 + euclid dim (w o) ^ 2)).
  - assert (N : measurable P (fun o => euclid dim (plus_random P u w o))).
    { apply measurable_sqrt. now apply measurable_inner. }
    replace (fun o => euclid dim (plus_random P u w o) ^ 2)
      with (fun o => euclid dim (plus_random P u w o) * (euclid dim (plus_random P u w o) * 1)) by reflexivity.
    apply measurable_times; [exact N |]. apply measurable_times; [exact N | apply measurable_constant].
  - apply times_has_mean, plus_has_mean; [apply U | apply W].
  - intros o. assert (A := euclid_nonneg dim (plus_random P u w o)).
    assert (B := euclid_plus (u o) (w o) dim). fold (plus_random P u w o) in B.
    rewrite Rabs_pos_eq by nra.
    apply Rle_trans with ((euclid dim (u o) + euclid dim (w o)) ^ 2); [apply pow_incr; lra |].
    assert (0 <= (euclid dim (u o) - euclid dim (w o)) ^ 2) by apply pow2_ge_0. nra.
Qed.

(* The mean does not see how a function is written. *)
Lemma mean_same : forall f g, has_mean P f -> has_mean P g -> (forall o, f o = g o) -> mean P f = mean P g.
Proof. intros f g F G E. apply Rle_antisym; apply mean_monotone; try assumption; intros o; right; now rewrite E. Qed.

Lemma has_mean_same : forall f g, (forall o, f o = g o) -> has_mean P f -> has_mean P g.
Proof.
  intros f g E. assert (F : f = g) by (apply FunctionalExtensionality.functional_extensionality; exact E).
  now rewrite F.
Qed.

Lemma moment_1 : forall u, moment P dim u 1 = mean P (fun o => euclid dim (u o)).
Proof.
  intros u. unfold moment. f_equal. apply FunctionalExtensionality.functional_extensionality. intros o.
  rewrite (power_INR _ 1). apply pow_1.
Qed.

Lemma moment_2 : forall u, moment P dim u 2 = mean P (fun o => euclid dim (u o) ^ 2).
Proof.
  intros u. unfold moment. f_equal. apply FunctionalExtensionality.functional_extensionality. intros o.
  exact (power_INR _ 2).
Qed.

Lemma mean_nonneg : forall f, has_mean P f -> (forall o, 0 <= f o) -> 0 <= mean P f.
Proof.
  intros f F N. rewrite <- (mean_constant P 0). apply mean_monotone; [apply constant_has_mean | exact F | exact N].
Qed.

Lemma mean_square : forall u w t, random_vector P dim u -> random_vector P dim w ->
  0 <= mean P (fun o => euclid dim (u o) ^ 2) + 2 * t * mean P (fun o => euclid dim (u o) * euclid dim (w o))
       + t ^ 2 * mean P (fun o => euclid dim (w o) ^ 2).
Proof.
  intros u w t U W. rewrite <- !mean_times by (try apply product_has_mean; try assumption; apply W).
  assert (A := times_has_mean P (2 * t) _ (product_has_mean u w U W)).
  assert (B := times_has_mean P (t ^ 2) _ (proj2 W)).
  rewrite <- !mean_plus; try assumption; try apply U; try (apply plus_has_mean; [apply U | exact A]).
  apply mean_nonneg; [apply plus_has_mean; [apply plus_has_mean; [apply U | exact A] | exact B] |].
  intros o. replace (_ + _ + _) with ((euclid dim (u o) + t * euclid dim (w o)) ^ 2) by ring. apply pow2_ge_0.
Qed.

Lemma second_moment_nonneg : forall u, random_vector P dim u -> 0 <= mean P (fun o => euclid dim (u o) ^ 2).
Proof. intros u U. apply mean_nonneg; [apply U | intros o; apply pow2_ge_0]. Qed.

Lemma mean_product : forall u w, random_vector P dim u -> random_vector P dim w ->
  mean P (fun o => euclid dim (u o) * euclid dim (w o))
  <= sqrt (mean P (fun o => euclid dim (u o) ^ 2)) * sqrt (mean P (fun o => euclid dim (w o) ^ 2)).
Proof.
  intros u w U W. apply discriminant; try now apply second_moment_nonneg. intros t. now apply mean_square.
Qed.

Lemma jensen : forall u, random_vector P dim u ->
  mean P (fun o => euclid dim (u o)) <= sqrt (mean P (fun o => euclid dim (u o) ^ 2)).
Proof.
  intros u U. assert (M := norm_has_mean u U). set (m := mean P (fun o => euclid dim (u o))) in *.
  assert (A := times_has_mean P (- 2 * m) _ M). assert (B := constant_has_mean P (m ^ 2)).
  assert (H : 0 <= mean P (fun o => euclid dim (u o) ^ 2) + - 2 * m * m + m ^ 2).
  { unfold m at 2. rewrite <- mean_times by exact M. rewrite <- (mean_constant P (m ^ 2)).
    rewrite <- !mean_plus; try assumption; try apply U; try (apply plus_has_mean; [apply U | exact A]).
    apply mean_nonneg; [apply plus_has_mean; [apply plus_has_mean; [apply U | exact A] | exact B] |].
    intros o. replace (_ + _ + _) with ((euclid dim (u o) - m) ^ 2) by ring. apply pow2_ge_0. }
  assert (N : 0 <= m) by (apply mean_nonneg; [exact M | intros; apply euclid_nonneg]).
  rewrite <- (sqrt_pow2 m) by exact N. apply sqrt_le_1_alt. nra.
Qed.

Lemma coordinates : forall u v, (forall i : nat, (i < dim)%nat -> measurable P (fun o => u o i)) ->
  has_mean P (fun o => inner dim (u o) (u o)) ->
  (forall i : nat, (i < dim)%nat -> mean P (fun o => (u o i - 0) ^ 2) = v) ->
  mean P (fun o => inner dim (u o) (u o)) = INR dim * v.
Proof.
  intros u v. induction dim as [| n IH]; intros M H V.
  - simpl. rewrite mean_constant. ring.
  - rewrite S_INR. simpl inner in *.
    assert (S : forall o, 0 <= u o n * u o n) by (intros; nra).
    assert (A : has_mean P (fun o => inner n (u o) (u o))).
    { apply bounded_has_mean with (2 := H); [apply measurable_inner; intros; apply M; lia |].
      intros o. rewrite Rabs_pos_eq by apply inner_nonneg. generalize (S o). lra. }
    assert (B : has_mean P (fun o => u o n * u o n)).
    { apply bounded_has_mean with (2 := H); [apply measurable_times; apply M; lia |].
      intros o. rewrite Rabs_pos_eq by apply S. generalize (inner_nonneg n (u o)). lra. }
    rewrite mean_plus by assumption. rewrite IH; [| intros; apply M; lia | exact A | intros; apply V; lia].
    rewrite <- (V n) by lia. rewrite Rmult_plus_distr_r, Rmult_1_l. f_equal. f_equal.
    apply FunctionalExtensionality.functional_extensionality. intros o. ring.
Qed.

End Means.

Theorem jensen_sqrt : jensen_sqrt_statement.
Proof. intros P dim u U. rewrite moment_1, moment_2. now apply jensen. Qed.

Theorem gaussian_second_moment : gaussian_second_moment_statement.
Proof.
  intros P dim u d v (U & -> & C) D V I. rewrite moment_2.
  assert (E : (fun o => euclid dim (u o) ^ 2) = (fun o => inner dim (u o) (u o))).
  { apply FunctionalExtensionality.functional_extensionality. intros o. apply euclid_square. }
  rewrite E. destruct U as [M H]. rewrite E in H. apply coordinates; try assumption. intros i L. now apply C.
Qed.

Theorem chi_mean : chi_mean_statement.
Proof.
  intros P dim u d v H D V I. rewrite <- (gaussian_second_moment P dim u d v H D V I), moment_1, moment_2.
  apply jensen, H.
Qed.

Theorem moment_triangle : moment_triangle_statement.
Proof.
  intros P dim u w U W. rewrite !moment_1. rewrite <- mean_plus by now apply norm_has_mean. apply mean_monotone.
  - now apply norm_has_mean, random_plus.
  - apply plus_has_mean; now apply norm_has_mean.
  - intros o. apply euclid_plus.
Qed.

Theorem minkowski : minkowski_statement.
Proof.
  intros P dim u w U W. rewrite !moment_2. set (a := mean P (fun o => euclid dim (u o) ^ 2)).
  set (b := mean P (fun o => euclid dim (w o) ^ 2)).
  assert (A : 0 <= a) by now apply second_moment_nonneg. assert (B : 0 <= b) by now apply second_moment_nonneg.
  assert (M := mean_product P dim u w U W). fold a b in M. set (m := mean P _) in M.
  assert (Q := product_has_mean P dim u w U W).
  assert (L : mean P (fun o => euclid dim (plus_random P u w o) ^ 2) <= a + 2 * m + b).
  { unfold a, b, m. rewrite <- mean_times by exact Q. assert (T := times_has_mean P 2 _ Q).
    rewrite <- !mean_plus; try assumption; try apply U; try apply W; try (apply plus_has_mean; [apply U | exact T]).
    apply mean_monotone; [now apply random_plus | |].
    - apply plus_has_mean; [apply plus_has_mean; [apply U | exact T] | apply W].
    - intros o. replace (_ + _ + _) with ((euclid dim (u o) + euclid dim (w o)) ^ 2) by ring.
      apply pow_incr. split; [apply euclid_nonneg | apply euclid_plus]. }
  assert (SA := sqrt_pos a). assert (SB := sqrt_pos b).
  rewrite <- (sqrt_pow2 (sqrt a + sqrt b)) by lra. apply sqrt_le_1_alt.
  generalize (sqrt_sqrt a A) (sqrt_sqrt b B). nra.
Qed.

(* Rules about exponentials, logarithms, powers and roots of numbers. *)
From Coq Require Import Reals ZArith Lra Lia.
From Coquelicot Require Import Coquelicot.
Require Import semantics statements lemmas.
Open Scope R_scope.

Theorem order : order_statement.
Proof. intros a b H. exact H. Qed.

Theorem one_minus_exp : one_minus_exp_statement.
Proof. intros x. generalize (exp_ineq1_le (-1 * x)). lra. Qed.

(* With the derivative: exp lies above its tangent at every point of a segment, so below its chord. *)
Lemma exp_tangent : forall a x : R, exp a * (1 + (x - a)) <= exp x.
Proof.
  intros a x. replace (exp x) with (exp a * exp (x - a)) by (rewrite <- exp_plus; f_equal; ring).
  apply Rmult_le_compat_l; [left; apply exp_pos | apply exp_ineq1_le].
Qed.

Lemma exp_convex : forall t a b : R, 0 <= t <= 1 -> exp ((1 - t) * a + t * b) <= (1 - t) * exp a + t * exp b.
Proof.
  intros t a b [T U]. set (m := (1 - t) * a + t * b).
  assert (A := exp_tangent m a). assert (B := exp_tangent m b).
  apply Rmult_le_compat_l with (r := 1 - t) in A; [| lra].
  apply Rmult_le_compat_l with (r := t) in B; [| lra].
  replace (exp m) with ((1 - t) * (exp m * (1 + (a - m))) + t * (exp m * (1 + (b - m)))) at 1; [lra |].
  unfold m. ring.
Qed.

Theorem exp_chord : exp_chord_statement.
Proof.
  intros x H U. generalize (exp_convex x 0 (-1) (conj H U)).
  replace ((1 - x) * 0 + x * -1) with (-1 * x) by ring. rewrite exp_0. lra.
Qed.

Lemma rising : forall (f d : R -> R) (a b : R),
  (forall c, is_derive f c (d c)) -> a <= b -> (forall c, a <= c <= b -> 0 <= d c) -> f a <= f b.
Proof.
  intros f d a b D [H | ->] P; [| lra].
  destruct (MVT_cor2 f d a b H) as [c [E [A B]]]; [intros c _; apply is_derive_Reals, D |].
  assert (0 <= d c) by (apply P; lra). nra.
Qed.

(* How far exp is above its Taylor polynomials of degree 2 and 3, with their derivatives. *)
Definition above_quadratic (x : R) : R := exp x - (1 + x + x ^ 2 / 2).
Definition above_cubic (x : R) : R := exp x - (1 + x + x ^ 2 / 2 + x ^ 3 / 6).

Lemma above_quadratic_rises : forall a b : R, a <= b -> above_quadratic a <= above_quadratic b.
Proof.
  intros a b H. apply rising with (d := fun x => exp x - (1 + x)); [| exact H |].
  - intros c. unfold above_quadratic. auto_derive; [trivial | field].
  - intros c _. generalize (exp_ineq1_le c). lra.
Qed.

Theorem exp_cubic : exp_cubic_statement.
Proof.
  intros x. assert (D : forall c, is_derive above_cubic c (above_quadratic c)).
  { intros c. unfold above_cubic, above_quadratic. auto_derive; [trivial | field]. }
  assert (Q : above_quadratic 0 = 0) by (unfold above_quadratic; rewrite exp_0; lra).
  assert (Z : above_cubic 0 = 0) by (unfold above_cubic; rewrite exp_0; lra).
  assert (0 <= above_cubic x); [| unfold above_cubic in *; lra].
  destruct (Rle_dec 0 x) as [X | X].
  - rewrite <- Z. apply rising with (d := above_quadratic); [exact D | exact X |].
    intros c [C _]. rewrite <- Q. now apply above_quadratic_rises.
  - enough (- above_cubic x <= - above_cubic 0) by lra.
    apply rising with (f := fun c => - above_cubic c) (d := fun c => - above_quadratic c); [| lra |].
    + intros c. apply (is_derive_opp above_cubic c (above_quadratic c)), D.
    + intros c [_ C]. assert (above_quadratic c <= 0); [| lra].
      rewrite <- Q. now apply above_quadratic_rises.
Qed.

Theorem exp_pade : exp_pade_statement.
Proof.
  intros x X. set (f := fun c => 2 + c - (2 - c) * exp c).
  assert (f 0 <= f x); [| unfold f in *; rewrite exp_0 in *; lra].
  apply rising with (d := fun c => 1 - (1 - c) * exp c); [| exact X |].
  - intros c. unfold f. auto_derive; [trivial | ring].
  - intros c _. assert (E := exp_ineq1_le (- c)). apply Rmult_le_compat_r with (r := exp c) in E; [| left; apply exp_pos].
    rewrite <- exp_plus in E. replace (- c + c) with 0 in E by ring. rewrite exp_0 in E. lra.
Qed.

Theorem bernoulli : bernoulli_statement.
Proof.
  intros n x X N I. destruct (natural n I N) as [k ->]. rewrite power_INR. clear I N.
  induction k as [| k IH]; [simpl; lra |]. rewrite S_INR. simpl.
  apply Rmult_le_compat_l with (r := x + 1) in IH; [| lra].
  assert (0 <= INR k) by apply pos_INR. nra.
Qed.

Theorem exp_monotone : exp_monotone_statement.
Proof. intros a b. apply exp_le. Qed.

Theorem log_monotone : log_monotone_statement.
Proof. intros a b. apply ln_le_mono. Qed.

Theorem log2_monotone : log2_monotone_statement.
Proof.
  intros a b A H. unfold log2, Rdiv. apply Rmult_le_compat_r; [| now apply ln_le_mono].
  left. apply Rinv_0_lt_compat, ln2_pos.
Qed.

Theorem sqrt_monotone : sqrt_monotone_statement.
Proof. intros a b A H. now apply sqrt_le_1_alt. Qed.

Theorem power_monotone : power_monotone_statement.
Proof.
  intros a b p A H P. destruct P as [P | <-]; [| rewrite !power_0_r; lra].
  destruct A as [A | <-].
  - rewrite !power_pos by lra. apply exp_le, Rmult_le_compat_l; [lra |]. now apply ln_le_mono.
  - rewrite power_zero by exact P. apply power_ge_0; lra.
Qed.

Theorem reciprocal_monotone : reciprocal_monotone_statement.
Proof. intros a b A H. now apply Rinv_le_contravar. Qed.

Theorem power_decreasing : power_decreasing_statement.
Proof.
  intros p q x X U Q H. destruct X as [X | <-].
  - rewrite !power_pos by exact X. apply exp_le.
    assert (ln x <= 0) by (rewrite <- ln_1; now apply ln_le_mono). nra.
  - destruct (Req_dec p 0) as [-> | N].
    + replace q with 0 by lra. lra.
    + rewrite (power_zero p) by lra. apply power_ge_0; lra.
Qed.

Theorem power_increasing : power_increasing_statement.
Proof.
  intros p q x X H. rewrite !power_pos by lra. apply exp_le.
  assert (0 <= ln x) by (rewrite <- ln_1; apply ln_le_mono; lra). nra.
Qed.

Theorem power_split : power_split_statement.
Proof.
  intros m n x M N I J. destruct (natural m I M) as [k ->]. destruct (natural n J N) as [l ->].
  rewrite <- plus_INR, !power_INR. apply pow_add.
Qed.

Theorem power_at_most_one : power_at_most_one_statement.
Proof.
  intros p x X U P. rewrite <- (power_0_r x). apply power_decreasing; lra.
Qed.

Theorem am_gm : am_gm_statement.
Proof. intros a b. assert (0 <= (a - b) ^ 2) by apply pow2_ge_0. nra. Qed.

Theorem young : young_statement.
Proof.
  intros a b c C. assert (H : 0 <= (c * a - b) ^ 2 * / c).
  { apply Rmult_le_pos; [apply pow2_ge_0 | left; now apply Rinv_0_lt_compat]. }
  replace ((c * a - b) ^ 2 * / c) with (a ^ 2 * c - 2 * (a * b) + b ^ 2 * / c) in H by (field; lra). lra.
Qed.

Theorem quadratic_formula : quadratic_formula_statement.
Proof.
  intros b c x X B C H. set (r := sqrt (b ^ 2 + 2 * c)) in *.
  assert (S : r * r = b ^ 2 + 2 * c) by (apply sqrt_sqrt; nra).
  assert (P : b < r). { unfold r. rewrite <- (sqrt_pow2 b B) at 1. apply sqrt_lt_1; nra. }
  assert (L : x <= r + -1 * b).
  { rewrite <- (Rinv_inv x), <- (Rinv_inv (r + -1 * b)). apply Rinv_le_contravar; [| exact H].
    apply Rinv_0_lt_compat. lra. }
  nra.
Qed.

Theorem sqrt_subadditive : sqrt_subadditive_statement.
Proof.
  intros a b A B. assert (P := sqrt_pos a). assert (Q := sqrt_pos b).
  rewrite <- (sqrt_pow2 (sqrt a + sqrt b)) by lra. apply sqrt_le_1_alt.
  generalize (sqrt_sqrt a A) (sqrt_sqrt b B). nra.
Qed.

Theorem sqrt_tangent : sqrt_tangent_statement.
Proof.
  intros x y X Y P. set (r := sqrt (x + y)). assert (R : 0 < r) by (apply sqrt_lt_R0; lra).
  assert (S : r * r = x + y) by (apply sqrt_sqrt; lra). assert (T := sqrt_sqrt x X).
  apply Rmult_le_reg_r with (r := 2 * r); [lra |].
  replace ((sqrt x + 1 / 2 * y * / r) * (2 * r)) with (2 * sqrt x * r + y) by (field; lra).
  assert (0 <= (r - sqrt x) ^ 2) by apply pow2_ge_0. nra.
Qed.

Theorem log_concave : log_concave_statement.
Proof.
  intros x y X Y. rewrite <- ln_mult by assumption.
  replace (2 * ln (1 / 2 * x + 1 / 2 * y)) with (ln ((1 / 2 * x + 1 / 2 * y) * (1 / 2 * x + 1 / 2 * y))).
  - apply ln_le_mono; [nra |]. assert (0 <= (x - y) ^ 2) by apply pow2_ge_0. nra.
  - rewrite ln_mult by lra. ring.
Qed.

Theorem log2_concave : log2_concave_statement.
Proof.
  intros x y X Y. unfold log2, Rdiv. rewrite <- Rmult_plus_distr_r, <- Rmult_assoc.
  apply Rmult_le_compat_r; [left; apply Rinv_0_lt_compat, ln2_pos | now apply log_concave].
Qed.

Theorem log_tangent : log_tangent_statement.
Proof. intros x X. generalize (exp_ineq1_le (ln x)). rewrite exp_ln by exact X. lra. Qed.

Theorem below_max : below_max_statement.
Proof. intros a b. apply Rmax_l. Qed.

Theorem above_min : above_min_statement.
Proof. intros a b. apply Rmin_l. Qed.

Theorem triangle : triangle_statement.
Proof. intros a b. apply Rabs_triang. Qed.

Theorem drop_nonnegative : drop_nonnegative_statement.
Proof. intros a b H. lra. Qed.

Theorem floor_below : floor_below_statement.
Proof. intros x. apply floor_bounds. Qed.

Theorem floor_above : floor_above_statement.
Proof. intros x. generalize (floor_bounds x). lra. Qed.

Theorem floor_of_small : floor_of_small_statement.
Proof.
  intros k x X H. rewrite power_pos by lra. unfold floor.
  rewrite (Int_part_unique _ 0%Z); [reflexivity | |].
  - apply Rlt_le, Rmult_lt_0_compat; [lra | apply exp_pos].
  - rewrite <- (exp_ln x) at 1 by lra. rewrite <- exp_plus, Rplus_0_l, <- exp_0 at 1.
    apply exp_increasing. unfold log2 in H. generalize ln2_pos. intros P.
    apply Rmult_lt_compat_r with (r := ln 2) in H; [| exact P].
    unfold Rdiv in H. rewrite Rmult_assoc, Rinv_l, Rmult_1_r in H by lra. lra.
Qed.

Theorem min_is : min_is_statement.
Proof. intros a b H. now apply Rmin_left. Qed.

Theorem floor_is : floor_is_statement.
Proof.
  intros n x A B [z E]. rewrite E in *. generalize (floor_bounds x). unfold floor. intros [C D].
  f_equal. apply Z.le_antisymm; apply Zlt_succ_le; apply lt_IZR; rewrite succ_IZR; lra.
Qed.

Theorem remainder : remainder_statement.
Proof. intros a b B. unfold modulo, Rdiv. ring. Qed.

Theorem divide_by_larger : divide_by_larger_statement.
Proof.
  intros a b A B. apply Rmult_le_reg_r with (r := a + b); [lra |].
  rewrite Rmult_assoc, Rinv_l by lra. lra.
Qed.

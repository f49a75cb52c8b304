(* The Gaussian integral. With I(x) the integral of exp(-t^2) over [0, x] and J(x) that of exp(-x^2 (1 + t^2))/(1 + t^2)
   over [0, 1], I^2 + J has the derivative 0 and is PI/4 at 0; and J tends to 0. *)
From Coq Require Import Reals ZArith Lra Lia.
From Coquelicot Require Import Coquelicot.
Require Import semantics statements lemmas.
Open Scope R_scope.

(* Coquelicot's real numbers are the real numbers. *)
Ltac reals := match goal with |- ?a = ?b => change (@eq R a b) end.

Definition bell (t : R) : R := exp (- (t * t)).
Definition half (x : R) : R := RInt bell 0 x.
Definition kernel (x t : R) : R := exp (- (x * x) * (1 + t * t)) * / (1 + t * t).

Lemma continuous_RInt : forall (f : R -> R) (a b : R), (forall z : R, continuous f z) -> ex_RInt f a b.
Proof. intros f a b H. apply (ex_RInt_continuous (V := R_CompleteNormedModule)). intros z _. apply H. Qed.

Lemma RInt_times : forall (f : R -> R) (c a b : R), (forall z : R, continuous f z) ->
  RInt (fun t => c * f t) a b = c * RInt f a b.
Proof. intros f c a b H. apply (RInt_scal (V := R_CompleteNormedModule) f a b c). now apply continuous_RInt. Qed.

Lemma RInt_stretch : forall (f : R -> R) (c x : R), (forall z : R, continuous f z) ->
  RInt (fun t => c * f (c * t + 0)) 0 x = RInt f 0 (c * x).
Proof.
  intros f c x H. replace (RInt f 0 (c * x)) with (RInt f (c * 0 + 0) (c * x + 0)) by (f_equal; ring).
  apply (RInt_comp_lin (V := R_CompleteNormedModule) f c 0 0 x). now apply continuous_RInt.
Qed.

Lemma continuous_bell : forall t : R, continuous bell t.
Proof. intros t. apply (ex_derive_continuous bell). unfold bell. auto_derive. exact I. Qed.

Lemma is_derive_half : forall x : R, is_derive half x (bell x).
Proof.
  intros x. apply is_derive_RInt with (a := 0); [| apply continuous_bell].
  apply filter_forall. intros y. apply (RInt_correct bell), continuous_RInt, continuous_bell.
Qed.

Lemma denominator : forall t : R, 1 <= 1 + t * t.
Proof. intros t. nra. Qed.

Lemma derive_kernel : forall x t : R, is_derive (fun u => kernel u t) x (-2 * x * exp (- (x * x) * (1 + t * t))).
Proof.
  intros x t. generalize (denominator t). intros D. unfold kernel. auto_derive; [exact I |]. field. lra.
Qed.

Lemma continuous_kernel : forall x t : R, continuous (fun s => kernel x s) t.
Proof.
  intros x t. apply (ex_derive_continuous (fun s => kernel x s)). unfold kernel. generalize (denominator t). intros D.
  auto_derive. lra.
Qed.

Lemma ex_RInt_kernel : forall x : R, ex_RInt (fun t => kernel x t) 0 1.
Proof. intros x. apply continuous_RInt, continuous_kernel. Qed.

Lemma slope : forall x : R, RInt (fun t => -2 * x * exp (- (x * x) * (1 + t * t))) 0 1 = -2 * bell x * half x.
Proof.
  intros x. unfold half. replace (RInt bell 0 x) with (RInt bell 0 (x * 1)) by (f_equal; ring).
  rewrite <- (RInt_stretch bell x 1) by apply continuous_bell.
  rewrite <- RInt_times.
  - apply RInt_ext. intros t _. reals. unfold bell.
    replace (- (x * x) * (1 + t * t)) with (- (x * x) + - ((x * t + 0) * (x * t + 0))) by ring. rewrite exp_plus. ring.
  - intros t. apply (ex_derive_continuous (fun t => x * bell (x * t + 0))). unfold bell. auto_derive. exact I.
Qed.

Lemma is_derive_area : forall x : R, is_derive (fun y => RInt (fun t => kernel y t) 0 1) x (-2 * bell x * half x).
Proof.
  intros x. rewrite <- slope.
  assert (D : forall u t : R, Derive (fun z => kernel z t) u = -2 * u * exp (- (u * u) * (1 + t * t))).
  { intros u t. apply is_derive_unique, derive_kernel. }
  rewrite <- (RInt_ext (fun t => Derive (fun u => kernel u t) x)) by (intros t _; apply D).
  apply is_derive_RInt_param.
  - apply filter_forall. intros y t _. eexists. apply derive_kernel.
  - intros t _. apply continuity_2d_pt_ext with (f := fun u v => -2 * u * exp (- (u * u) * (1 + v * v))).
    { intros u v. now rewrite D. }
    assert (U := continuity_2d_pt_id1 x t). assert (V := continuity_2d_pt_id2 x t).
    apply continuity_2d_pt_mult; [apply continuity_2d_pt_mult; [apply continuity_2d_pt_const | exact U] |].
    apply (continuity_1d_2d_pt_comp exp); [apply derivable_continuous, derivable_exp |].
    apply continuity_2d_pt_mult; [apply continuity_2d_pt_opp, continuity_2d_pt_mult; exact U |].
    apply continuity_2d_pt_plus; [apply continuity_2d_pt_const | apply continuity_2d_pt_mult; exact V].
  - apply filter_forall. intros y. apply ex_RInt_kernel.
Qed.

Lemma area_0 : RInt (fun t => kernel 0 t) 0 1 = PI / 4.
Proof.
  apply is_RInt_unique. replace (PI / 4) with (minus (atan 1) (atan 0)).
  - apply is_RInt_ext with (f := fun t => / (1 + Rsqr t)).
    + intros t _. reals. unfold kernel, Rsqr. replace (- (0 * 0) * (1 + t * t)) with 0 by ring. rewrite exp_0. ring.
    + apply is_RInt_derive with (f := atan).
      * intros t _. apply is_derive_atan.
      * intros t _. apply (ex_derive_continuous (fun t => / (1 + Rsqr t))). unfold Rsqr.
        generalize (denominator t). intros D. auto_derive. lra.
  - unfold minus, plus, opp. simpl. rewrite atan_1, atan_0. ring.
Qed.

Lemma constant : forall x : R, 0 < x -> half x * half x + RInt (fun t => kernel x t) 0 1 = PI / 4.
Proof.
  intros x X. rewrite <- area_0.
  rewrite <- (eq_is_derive (fun y => half y * half y + RInt (fun t => kernel y t) 0 1) 0 x); [| | exact X].
  - unfold half at 1 2. rewrite RInt_point. unfold zero. simpl. ring.
  - intros t _. evar_last.
    + apply (is_derive_plus (fun y => half y * half y)); [| apply is_derive_area].
      apply (is_derive_mult half half); [apply is_derive_half | apply is_derive_half | intros; apply Rmult_comm].
    + unfold plus, mult, zero. simpl. unfold mult. simpl. ring.
Qed.

Lemma half_nonneg : forall x : R, 0 < x -> 0 <= half x.
Proof.
  intros x X. replace 0 with (RInt (fun _ : R => 0) 0 x).
  - apply RInt_le; [lra | apply ex_RInt_const | |].
    + apply continuous_RInt, continuous_bell.
    + intros t _. left. apply exp_pos.
  - rewrite RInt_const. unfold scal. simpl. unfold mult. simpl. ring.
Qed.

(* exp(-x^2) <= 1/(1 + x^2), so that the second integral is small. *)
Lemma area_bounds : forall x : R, 0 < x -> 0 <= RInt (fun t => kernel x t) 0 1 <= / (1 + x * x).
Proof.
  intros x X.
  assert (P : forall t : R, 0 <= kernel x t <= / (1 + x * x)).
  { intros t. unfold kernel. generalize (denominator t) (denominator x). intros D B. assert (0 < / (1 + t * t) <= 1).
    { split; [apply Rinv_0_lt_compat; lra |]. rewrite <- Rinv_1. apply Rinv_le_contravar; lra. }
    assert (E : 0 < exp (- (x * x) * (1 + t * t)) <= / (1 + x * x)).
    { split; [apply exp_pos |]. rewrite <- (Rinv_inv (exp _)), <- exp_Ropp. apply Rinv_le_contravar; [lra |].
      apply Rle_trans with (1 + x * x * (1 + t * t)); [nra |].
      replace (- (- (x * x) * (1 + t * t))) with (x * x * (1 + t * t)) by ring. apply exp_ineq1_le. }
    split; [nra |]. apply Rle_trans with (exp (- (x * x) * (1 + t * t)) * 1); [apply Rmult_le_compat_l; lra | lra]. }
  assert (C : forall c : R, RInt (fun _ : R => c) 0 1 = c).
  { intros c. rewrite RInt_const. unfold scal. simpl. unfold mult. simpl. ring. }
  assert (E := ex_RInt_kernel x). split.
  - rewrite <- (C 0) at 1. apply RInt_le; [exact Rle_0_1 | apply ex_RInt_const | exact E |]. intros t _. apply P.
  - rewrite <- (C (/ (1 + x * x))). apply RInt_le; [exact Rle_0_1 | exact E | apply ex_RInt_const |]. intros t _.
    apply P.
Qed.

Lemma half_near : forall eps : R, 0 < eps -> exists M : R, 0 < M /\ forall x : R, M < x ->
  Rabs (half x - sqrt PI / 2) < eps.
Proof.
  intros eps E. assert (S : 0 < sqrt PI / 2) by (generalize (sqrt_lt_R0 PI PI_RGT_0); lra).
  set (s := sqrt PI / 2) in *.
  assert (Q : s * s = PI / 4).
  { unfold s. replace (sqrt PI / 2 * (sqrt PI / 2)) with (sqrt PI * sqrt PI / 4) by field.
    rewrite sqrt_sqrt; [reflexivity |].
    left. exact PI_RGT_0. }
  exists (Rmax 1 (/ (s * eps))). split; [apply Rlt_le_trans with 1; [lra | apply Rmax_l] |]. intros x X.
  assert (X1 : 1 < x) by (apply Rle_lt_trans with (2 := X); apply Rmax_l).
  assert (X2 : / (s * eps) < x) by (apply Rle_lt_trans with (2 := X); apply Rmax_r).
  assert (K := constant x). assert (N := half_nonneg x). destruct (area_bounds x) as [A B]; [lra |].
  specialize (K ltac:(lra)). specialize (N ltac:(lra)). set (a := RInt _ 0 1) in *. set (h := half x) in *.
  assert (L : h <= s) by (apply Rsqr_incr_0; unfold Rsqr; lra).
  rewrite Rabs_left1 by lra.
  assert (G : (s - h) * s <= a) by nra.
  assert (F : a < s * eps).
  { apply Rle_lt_trans with (1 := B). rewrite <- (Rinv_inv (s * eps)).
    assert (0 < / (s * eps)) by (apply Rinv_0_lt_compat; nra).
    apply Rinv_lt_contravar; nra. }
  nra.
Qed.

Lemma half_odd : forall x : R, half (- x) = - half x.
Proof.
  intros x. unfold half. replace (- x) with (-1 * x) by ring. rewrite <- (RInt_stretch bell) by apply continuous_bell.
  replace (- RInt bell 0 x) with (-1 * RInt bell 0 x) by ring. rewrite <- RInt_times by apply continuous_bell.
  apply RInt_ext. intros t _. reals. unfold bell. do 3 f_equal. ring.
Qed.

Section Density.
Variables (c k s : R).
Hypothesis positive : 0 < s.

Definition width : R := s * sqrt 2.
Definition total_to (v : R) : R := exp k / sqrt PI * half ((v - c) / width).
Definition density (v : R) : R := 1 / 2 * sqrt 2 * / sqrt PI * / s * exp (k + -1 / 2 * / s ^ 2 * (v + -1 * c) ^ 2).

Lemma width_pos : 0 < width.
Proof. apply Rmult_lt_0_compat; [exact positive | apply sqrt_lt_R0; lra]. Qed.

Lemma root_pos : 0 < sqrt PI.
Proof. apply sqrt_lt_R0, PI_RGT_0. Qed.

Lemma derive_total : forall v : R, is_derive total_to v (density v).
Proof.
  intros v. generalize width_pos root_pos. intros W P. assert (T : sqrt 2 * sqrt 2 = 2) by (apply sqrt_sqrt; lra).
  assert (0 < sqrt 2) by (apply sqrt_lt_R0; lra).
  evar_last.
  - apply (is_derive_scal (fun v => half ((v - c) / width))).
    apply (is_derive_comp half (fun v => (v - c) / width)); [apply is_derive_half |].
    auto_derive; [exact I |]. reflexivity.
  - unfold scal. simpl. unfold mult. simpl. unfold density, bell. rewrite exp_plus.
    replace (- ((v - c) / width * ((v - c) / width))) with (-1 / 2 * / s ^ 2 * (v + -1 * c) ^ 2).
    + replace (1 / 2 * sqrt 2) with (/ sqrt 2); [unfold width; field; lra |].
      apply Rmult_eq_reg_r with (sqrt 2); [| lra]. rewrite Rinv_l, Rmult_assoc, T by lra. lra.
    + unfold width. replace ((v - c) / (s * sqrt 2) * ((v - c) / (s * sqrt 2)))
        with ((v - c) ^ 2 * / s ^ 2 * / (sqrt 2 * sqrt 2)) by (field; lra).
      rewrite T. field. lra.
Qed.

Lemma continuous_density : forall v : R, continuous density v.
Proof. intros v. apply (ex_derive_continuous density). unfold density. auto_derive. exact I. Qed.

Lemma total_limit : forall (F : (R -> Prop) -> Prop) (sign : R), Filter F -> sign = 1 \/ sign = -1 ->
  (forall M : R, F (fun v => M < sign * v)) -> filterlim total_to F (locally (sign * (exp k / 2))).
Proof.
  intros F sign FF G H. apply filterlim_locally. intros eps. generalize width_pos root_pos (exp_pos k). intros W P K.
  assert (E : 0 < eps * sqrt PI / exp k).
  { apply Rmult_lt_0_compat; [apply Rmult_lt_0_compat; [apply cond_pos | exact P] | now apply Rinv_0_lt_compat]. }
  destruct (half_near _ E) as (M & M0 & N). generalize (H (sign * c + M * width)). apply filter_imp. intros v V.
  unfold ball. simpl. unfold AbsRing_ball, abs, minus, plus, opp. simpl. unfold total_to.
  assert (B : M < sign * ((v - c) / width)).
  { apply Rmult_lt_reg_r with width; [exact W |].
    replace (sign * ((v - c) / width) * width) with (sign * (v - c)) by (field; lra). lra. }
  apply N in B. replace (half (sign * ((v - c) / width))) with (sign * half ((v - c) / width)) in B.
  - replace (exp k / sqrt PI * half ((v - c) / width) + - (sign * (exp k / 2)))
      with (exp k / sqrt PI * sign * (sign * half ((v - c) / width) - sqrt PI / 2)).
    + assert (Q : 0 < exp k / sqrt PI) by (apply Rmult_lt_0_compat; [exact K | now apply Rinv_0_lt_compat]).
      rewrite !Rabs_mult, (Rabs_pos_eq (exp k / sqrt PI)) by lra.
      replace (Rabs sign) with 1 by (destruct G as [-> | ->]; [rewrite Rabs_R1 | rewrite Rabs_left by lra]; ring).
      apply Rmult_lt_compat_l with (r := exp k / sqrt PI) in B; [| exact Q].
      replace (exp k / sqrt PI * (eps * sqrt PI / exp k)) with (pos eps) in B by (field; lra). lra.
    + destruct G as [-> | ->]; field; lra.
  - destruct G as [-> | ->]; [now rewrite !Rmult_1_l |].
    replace (-1 * ((v - c) / width)) with (- ((v - c) / width)) by ring. rewrite half_odd. ring.
Qed.

Lemma density_total : is_RInt_gen density (Rbar_locally m_infty) (Rbar_locally p_infty) (exp k).
Proof.
  apply is_RInt_gen_ext with (f := Derive total_to).
  - apply filter_forall. intros [a b] v _. apply is_derive_unique, derive_total.
  - replace (exp k) with (1 * (exp k / 2) - -1 * (exp k / 2)) by field.
    assert (D : forall v : R, Derive total_to v = density v) by (intros v; apply is_derive_unique, derive_total).
    apply (is_RInt_gen_Derive total_to).
    + apply filter_forall. intros [a b] v _. eexists. apply derive_total.
    + apply filter_forall. intros [a b] v _.
      apply continuous_ext with (f := density); [intros; now rewrite D | apply continuous_density].
    + apply total_limit; [apply Rbar_locally_filter | now right |]. intros M. exists (- M). intros v. simpl. lra.
    + apply total_limit; [apply Rbar_locally_filter | now left |]. intros M. exists M. intros v. simpl. lra.
Qed.

End Density.

Theorem gaussian_integral : gaussian_integral_statement.
Proof.
  intros c k s S. assert (H := density_total c k s S). split; [now exists (exp k) |].
  unfold integral. now apply is_RInt_gen_unique.
Qed.

(* Written by statements.py from rules.json. *)
From Coq Require Import Reals.
Require Import semantics.
Open Scope R_scope.

Definition order_statement : Prop :=
  forall (a : R) (b : R),
  a <= b ->
  a <= b.

Definition one_minus_exp_statement : Prop :=
  forall (x : R),
  ((1) + ((-1) * x)) <= (exp ((-1) * x)).

Definition exp_chord_statement : Prop :=
  forall (x : R),
  (0) <= x ->
  x <= (1) ->
  (exp ((-1) * x)) <= ((1) + ((-1) * x * ((1) + ((-1) * (exp (-1)))))).

Definition exp_cubic_statement : Prop :=
  forall (x : R),
  ((1) + x + ((1 / 2) * (x ^ 2)) + ((1 / 6) * (x ^ 3))) <= (exp x).

Definition exp_pade_statement : Prop :=
  forall (x : R),
  (0) <= x ->
  (((2) + ((-1) * x)) * (exp x)) <= ((2) + x).

Definition bernoulli_statement : Prop :=
  forall (n : R) (x : R),
  (-1) <= x ->
  (0) <= n ->
  is_integer n ->
  ((n * x) + (1)) <= (power (x + (1)) n).

Definition exp_monotone_statement : Prop :=
  forall (a : R) (b : R),
  a <= b ->
  (exp a) <= (exp b).

Definition log_monotone_statement : Prop :=
  forall (a : R) (b : R),
  (0) < a ->
  a <= b ->
  (ln a) <= (ln b).

Definition log2_monotone_statement : Prop :=
  forall (a : R) (b : R),
  (0) < a ->
  a <= b ->
  (log2 a) <= (log2 b).

Definition sqrt_monotone_statement : Prop :=
  forall (a : R) (b : R),
  (0) <= a ->
  a <= b ->
  (sqrt a) <= (sqrt b).

Definition power_monotone_statement : Prop :=
  forall (a : R) (b : R) (p : R),
  (0) <= a ->
  a <= b ->
  (0) <= p ->
  (power a p) <= (power b p).

Definition reciprocal_monotone_statement : Prop :=
  forall (a : R) (b : R),
  (0) < a ->
  a <= b ->
  (/ b) <= (/ a).

Definition power_decreasing_statement : Prop :=
  forall (p : R) (q : R) (x : R),
  (0) <= x ->
  x <= (1) ->
  (0) <= q ->
  q <= p ->
  (power x p) <= (power x q).

Definition power_increasing_statement : Prop :=
  forall (p : R) (q : R) (x : R),
  (1) <= x ->
  p <= q ->
  (power x p) <= (power x q).

Definition power_split_statement : Prop :=
  forall (m : R) (n : R) (x : R),
  (0) <= m ->
  (0) <= n ->
  is_integer m ->
  is_integer n ->
  (power x (m + n)) = ((power x m) * (power x n)).

Definition power_at_most_one_statement : Prop :=
  forall (p : R) (x : R),
  (0) <= x ->
  x <= (1) ->
  (0) <= p ->
  (power x p) <= (1).

Definition am_gm_statement : Prop :=
  forall (a : R) (b : R),
  ((2) * a * b) <= ((a ^ 2) + (b ^ 2)).

Definition young_statement : Prop :=
  forall (a : R) (b : R) (c : R),
  (0) < c ->
  (a * b) <= (((1 / 2) * (a ^ 2) * c) + ((1 / 2) * (b ^ 2) * (/ c))).

Definition quadratic_formula_statement : Prop :=
  forall (b : R) (c : R) (x : R),
  (0) < x ->
  (0) <= b ->
  (0) < c ->
  (/ ((sqrt ((b ^ 2) + ((2) * c))) + ((-1) * b))) <= (/ x) ->
  ((b * x) + ((1 / 2) * (x ^ 2))) <= c.

Definition sqrt_subadditive_statement : Prop :=
  forall (a : R) (b : R),
  (0) <= a ->
  (0) <= b ->
  (sqrt (a + b)) <= ((sqrt a) + (sqrt b)).

Definition sqrt_tangent_statement : Prop :=
  forall (x : R) (y : R),
  (0) <= x ->
  (0) <= y ->
  (0) < (x + y) ->
  ((sqrt x) + ((1 / 2) * y * (/ (sqrt (x + y))))) <= (sqrt (x + y)).

Definition log_concave_statement : Prop :=
  forall (x : R) (y : R),
  (0) < x ->
  (0) < y ->
  ((ln x) + (ln y)) <= ((2) * (ln (((1 / 2) * x) + ((1 / 2) * y)))).

Definition log2_concave_statement : Prop :=
  forall (x : R) (y : R),
  (0) < x ->
  (0) < y ->
  ((log2 x) + (log2 y)) <= ((2) * (log2 (((1 / 2) * x) + ((1 / 2) * y)))).

Definition log_tangent_statement : Prop :=
  forall (x : R),
  (0) < x ->
  (ln x) <= (x + (-1)).

Definition below_max_statement : Prop :=
  forall (a : R) (b : R),
  a <= (Rmax a b).

Definition above_min_statement : Prop :=
  forall (a : R) (b : R),
  (Rmin a b) <= a.

Definition min_is_statement : Prop :=
  forall (a : R) (b : R),
  a <= b ->
  (Rmin a b) = a.

Definition triangle_statement : Prop :=
  forall (a : R) (b : R),
  (Rabs (a + b)) <= ((Rabs a) + (Rabs b)).

Definition drop_nonnegative_statement : Prop :=
  forall (a : R) (b : R),
  (0) <= b ->
  a <= (a + b).

Definition floor_below_statement : Prop :=
  forall (x : R),
  (floor x) <= x.

Definition floor_above_statement : Prop :=
  forall (x : R),
  (x + (-1)) <= (floor x).

Definition floor_of_small_statement : Prop :=
  forall (k : R) (x : R),
  (0) < x ->
  (log2 x) < k ->
  (floor (x * (power (2) ((-1) * k)))) = (0).

Definition floor_is_statement : Prop :=
  forall (n : R) (x : R),
  n <= x ->
  x < (n + (1)) ->
  is_integer n ->
  (floor x) = n.

Definition remainder_statement : Prop :=
  forall (a : R) (b : R),
  (0) < b ->
  (modulo a b) = (a + ((-1) * b * (floor (a * (/ b))))).

Definition divide_by_larger_statement : Prop :=
  forall (a : R) (b : R),
  (0) < a ->
  (0) <= b ->
  (a * (/ (a + b))) <= (1).

Definition geometric_series_statement : Prop :=
  forall (x : R),
  (0) <= x ->
  x < (1) ->
  converges (0) (fun i => (power x i)) /\ (series (0) (fun i => (power x i))) = (/ ((1) + ((-1) * x))).

Definition geometric_sum_statement : Prop :=
  forall (m : R) (x : R),
  x <> (1) ->
  (0) <= m ->
  is_integer m ->
  (sum_over (0) (m + (-1)) (fun i => (power x i))) = ((/ ((1) + ((-1) * x))) * ((1) + ((-1) * (power x m)))).

Definition geometric_sum_bound_statement : Prop :=
  forall (m : R) (x : R),
  (0) <= x ->
  x < (1) ->
  is_integer m ->
  (sum_over (0) m (fun i => (power x i))) <= (/ ((1) + ((-1) * x))).

Definition sum_termwise_statement : Prop :=
  forall (f : R -> R) (g : R -> R) (hi : R) (lo : R),
  (forall i : R, is_integer i -> lo <= i -> i <= hi -> (f i) <= (g i)) ->
  is_integer lo ->
  is_integer hi ->
  (sum_over lo hi (fun i => (f i))) <= (sum_over lo hi (fun i => (g i))).

Definition sum_at_most_statement : Prop :=
  forall (c : R) (f : R -> R) (hi : R) (lo : R),
  (forall i : R, is_integer i -> lo <= i -> i <= hi -> (f i) <= c) ->
  (0) <= (hi + (1) + ((-1) * lo)) ->
  is_integer lo ->
  is_integer hi ->
  (sum_over lo hi (fun i => (f i))) <= (c * (hi + (1) + ((-1) * lo))).

Definition sum_extend_statement : Prop :=
  forall (f : R -> R) (hi : R) (lo : R) (more : R),
  (forall i : R, is_integer i -> lo <= i -> i <= more -> (0) <= (f i)) ->
  hi <= more ->
  is_integer lo ->
  is_integer hi ->
  is_integer more ->
  (sum_over lo hi (fun i => (f i))) <= (sum_over lo more (fun i => (f i))).

Definition sum_split_first_statement : Prop :=
  forall (f : R -> R) (hi : R) (lo : R),
  lo <= hi ->
  is_integer lo ->
  is_integer hi ->
  (sum_over lo hi (fun i => (f i))) = ((f lo) + (sum_over (lo + (1)) hi (fun i => (f i)))).

Definition sum_split_statement : Prop :=
  forall (f : R -> R) (hi : R) (lo : R) (m : R),
  lo <= (m + (1)) ->
  m <= hi ->
  is_integer lo ->
  is_integer hi ->
  is_integer m ->
  (sum_over lo hi (fun i => (f i))) = ((sum_over lo m (fun i => (f i))) + (sum_over (m + (1)) hi (fun i => (f i)))).

Definition sum_scale_statement : Prop :=
  forall (c : R) (f : R -> R) (hi : R) (lo : R),
  is_integer lo ->
  is_integer hi ->
  (sum_over lo hi (fun i => (c * (f i)))) = (c * (sum_over lo hi (fun i => (f i)))).

Definition sum_reverse_statement : Prop :=
  forall (f : R -> R) (hi : R) (lo : R),
  is_integer lo ->
  is_integer hi ->
  (sum_over lo hi (fun i => (f i))) = (sum_over lo hi (fun i => (f (hi + lo + ((-1) * i))))).

Definition guarded_sum_statement : Prop :=
  forall (f : R -> R) (hi : R) (lo : R),
  is_integer lo ->
  is_integer hi ->
  (if Rle_dec lo hi then (sum_over lo hi (fun i => (f i))) else (0)) = (sum_over lo hi (fun i => (f i))).

Definition empty_sum_statement : Prop :=
  forall (f : R -> R) (hi : R) (lo : R),
  hi <= (lo + (-1)) ->
  is_integer lo ->
  is_integer hi ->
  (sum_over lo hi (fun i => (f i))) = (0).

Definition convolution_from_end_statement : Prop :=
  forall (c : R) (hi : R) (x : R),
  (0) < c ->
  is_integer hi ->
  (sum_over (0) hi (fun i => ((power c i) * (power x (hi + ((-1) * i)))))) = ((power c hi) * (sum_over (0) hi (fun i => ((power c ((-1) * i)) * (power x i))))).

Definition sum_constant_statement : Prop :=
  forall (c : R) (hi : R) (lo : R),
  (0) <= (hi + (1) + ((-1) * lo)) ->
  is_integer lo ->
  is_integer hi ->
  (sum_over lo hi (fun i => c)) = (c * (hi + (1) + ((-1) * lo))).

Definition gaussian_integral_statement : Prop :=
  forall (c : R) (k : R) (s : R),
  (0) < s ->
  integrable (fun v => ((1 / 2) * (sqrt (2)) * (/ (sqrt PI)) * (/ s) * (exp (k + ((-1 / 2) * (/ (s ^ 2)) * ((v + ((-1) * c)) ^ 2)))))) /\ (integral (fun v => ((1 / 2) * (sqrt (2)) * (/ (sqrt PI)) * (/ s) * (exp (k + ((-1 / 2) * (/ (s ^ 2)) * ((v + ((-1) * c)) ^ 2))))))) = (exp k).

Definition convolution_next_statement : Prop :=
  forall (m : R) (u : R) (v : R),
  (0) <= m ->
  is_integer m ->
  (sum_over (0) m (fun j => ((power u j) * (power v (m + ((-1) * j)))))) = ((u * (sum_over (0) (m + (-1)) (fun j => ((power u j) * (power v (m + ((-1) * j) + (-1))))))) + (power v m)).

Definition convolution_nonnegative_statement : Prop :=
  forall (m : R) (u : R) (v : R),
  (0) <= u ->
  (0) <= v ->
  is_integer m ->
  (0) <= (sum_over (0) (m + (-1)) (fun j => ((power u j) * (power v (m + ((-1) * j) + (-1)))))).

Definition convolution_squares_statement : Prop :=
  forall (a : R) (b : R) (d : R) (m : R) (p : R) (r : R) (s : R) (u : R) (v : R),
  (a * ((1) + ((-1) * (u ^ 2)))) = p ->
  ((b * ((1) + ((-1) * u * v))) + ((-2) * a * u)) = r ->
  ((d * ((1) + ((-1) * (v ^ 2)))) + ((-1) * a) + ((-1) * b * v)) = s ->
  (0) <= m ->
  is_integer m ->
  (sum_over (0) (m + (-1)) (fun i => ((p * ((sum_over (0) (i + (-1)) (fun j => ((power u j) * (power v (i + ((-1) * j) + (-1)))))) ^ 2)) + (r * (power v i) * (sum_over (0) (i + (-1)) (fun j => ((power u j) * (power v (i + ((-1) * j) + (-1))))))) + (s * (power v ((2) * i)))))) = (d + ((-1) * a * ((sum_over (0) (m + (-1)) (fun j => ((power u j) * (power v (m + ((-1) * j) + (-1)))))) ^ 2)) + ((-1) * b * (power v m) * (sum_over (0) (m + (-1)) (fun j => ((power u j) * (power v (m + ((-1) * j) + (-1))))))) + ((-1) * d * (power v ((2) * m)))).

Definition convolution_increments_statement : Prop :=
  forall (m : R) (u : R) (v : R),
  (0) <= m ->
  is_integer m ->
  ((sum_over (0) (m + (-1)) (fun j => ((power u j) * (power v (m + ((-1) * j) + (-1)))))) ^ 2) = (sum_over (0) (m + (-1)) (fun i => (((2) * u * (power v i) * (sum_over (0) (i + (-1)) (fun j => ((power u j) * (power v (i + ((-1) * j) + (-1))))))) + (power v ((2) * i)) + (((u ^ 2) + (-1)) * ((sum_over (0) (i + (-1)) (fun j => ((power u j) * (power v (i + ((-1) * j) + (-1)))))) ^ 2))))).

Definition convolution_sum_statement : Prop :=
  forall (a : R) (d : R) (m : R) (p : R) (s : R) (u : R) (v : R),
  (a * ((1) + ((-1) * u))) = p ->
  ((d * ((1) + ((-1) * v))) + ((-1) * a)) = s ->
  (0) <= m ->
  is_integer m ->
  (sum_over (0) (m + (-1)) (fun i => ((p * (sum_over (0) (i + (-1)) (fun j => ((power u j) * (power v (i + ((-1) * j) + (-1))))))) + (s * (power v i))))) = (d + ((-1) * a * (sum_over (0) (m + (-1)) (fun j => ((power u j) * (power v (m + ((-1) * j) + (-1))))))) + ((-1) * d * (power v m))).

Definition arithmetic_geometric_statement : Prop :=
  forall (m : R) (x : R),
  x <> (1) ->
  (0) <= m ->
  is_integer m ->
  (sum_over (0) m (fun i => (i * (power x (m + ((-1) * i)))))) = ((/ ((1) + ((-1) * x))) * (m + ((-1) * x * (/ ((1) + ((-1) * x))) * ((1) + ((-1) * (power x m)))))).

Definition sum_integers_statement : Prop :=
  forall (m : R),
  (0) <= m ->
  is_integer m ->
  (sum_over (0) m (fun i => i)) = ((1 / 2) * m * (m + (1))).

Definition sum_by_blocks_statement : Prop :=
  forall (f : R -> R) (n : R) (top : R),
  (forall i : R, is_integer i -> (0) <= i -> (0) <= (f i)) ->
  (1) <= n ->
  is_integer n ->
  is_integer top ->
  (0) <= top ->
  (sum_over (1) top (fun t => (f (floor (t * (/ n)))))) <= (n * (sum_over (0) (floor ((/ n) * top)) (fun i => (f i)))).

Definition equal_arguments_statement : Prop :=
  forall (f : R -> R) (m : R) (n : R),
  m = n ->
  is_integer m ->
  is_integer n ->
  (f m) = (f n).

Definition power_chord_statement : Prop :=
  forall (d : R) (x : R) (y : R),
  (0) <= x ->
  (0) <= y ->
  y <= d ->
  (0) < d ->
  (power x y) <= ((1) + ((-1) * (/ d) * y * ((1) + ((-1) * (power x d))))).

Definition bernstein_statement : Prop :=
  forall (a : R) (b : R) (high : R) (low : R) (x : R),
  bernstein_order a b x low high ->
  low <= x ->
  x <= high ->
  a <= b.

Definition binomial_zero_statement : Prop :=
  forall (n : R),
  (0) <= n ->
  is_integer n ->
  (binomial n (0)) = (1).

Definition binomial_next_statement : Prop :=
  forall (k : R) (n : R),
  (0) <= n ->
  (0) <= k ->
  is_integer n ->
  is_integer k ->
  (binomial n (k + (1))) = ((n + ((-1) * k)) * (/ (k + (1))) * (binomial n k)).

Definition popcount_log2_statement : Prop :=
  forall (n : R),
  (0) <= n ->
  is_integer n ->
  (popcount n) <= (log2 (n + (1))).

Definition popcount_width_statement : Prop :=
  forall (n : R),
  (1) <= n ->
  is_integer n ->
  (popcount n) <= ((floor (log2 n)) + (1)).

Definition below_next_power_statement : Prop :=
  forall (n : R),
  (1) <= n ->
  is_integer n ->
  (n + (1)) <= (power (2) ((floor (log2 n)) + (1))).

Definition popcount_digits_statement : Prop :=
  forall (R_ : R) (s : R),
  (0) <= s ->
  s <= ((power (2) (R_ + (1))) + (-1)) ->
  is_integer s ->
  is_integer R_ ->
  (popcount s) <= (R_ + (1)).

Definition bits_sum_statement : Prop :=
  forall (R_ : R) (s : R),
  (0) <= s ->
  s <= ((power (2) (R_ + (1))) + (-1)) ->
  is_integer s ->
  is_integer R_ ->
  (sum_over (0) R_ (fun i => (bit s i))) = (popcount s).

Definition bit_times_statement : Prop :=
  forall (k : R) (s : R) (x : R),
  (0) <= x ->
  (0) <= s ->
  (0) <= k ->
  is_integer s ->
  is_integer k ->
  (x * (bit s k)) <= x.

Definition set_bits_statement : Prop :=
  forall (R_ : R) (f : R -> R) (pos : R -> R) (s : R),
  (0) <= s ->
  s <= ((power (2) (R_ + (1))) + (-1)) ->
  is_integer s ->
  is_integer R_ ->
  lists_set_bits pos s ->
  (sum_over (0) R_ (fun i => ((f i) * (bit s i)))) = (sum_over (1) (popcount s) (fun i => (f (pos i)))).

Definition remainder_below_set_bit_statement : Prop :=
  forall (k : R) (pos : R -> R) (s : R),
  lists_set_bits pos s ->
  (0) <= s ->
  (1) <= k ->
  k <= (popcount s) ->
  is_integer s ->
  is_integer k ->
  (modulo s (power (2) (pos k))) = (sum_over (1) (k + (-1)) (fun j => (power (2) (pos j)))).

Definition remainder_all_ones_statement : Prop :=
  forall (k : R) (n : R),
  (0) <= k ->
  k <= n ->
  is_integer k ->
  is_integer n ->
  (modulo ((power (2) n) + (-1)) (power (2) k)) = ((power (2) k) + (-1)).

Definition set_bits_apart_statement : Prop :=
  forall (k : R) (pos : R -> R) (s : R),
  lists_set_bits pos s ->
  (0) <= s ->
  (1) <= k ->
  k <= (popcount s) ->
  is_integer s ->
  is_integer k ->
  (k + (-1)) <= (pos k).

Definition power_of_two_grows_statement : Prop :=
  forall (k : R),
  (0) <= k ->
  is_integer k ->
  (k + (1)) <= (power (2) k).

Definition jensen_sqrt_statement : Prop :=
  forall (P : probability) (dim : nat) (X : outcome P -> vector),
  random_vector P dim X ->
  (moment P dim X (1)) <= (sqrt (moment P dim X (2))).

Definition gaussian_second_moment_statement : Prop :=
  forall (P : probability) (dim : nat) (X : outcome P -> vector) (d : R) (v : R),
  centred_vector P dim X d v ->
  (1) <= d ->
  (0) <= v ->
  is_integer d ->
  (moment P dim X (2)) = (d * v).

Definition chi_mean_statement : Prop :=
  forall (P : probability) (dim : nat) (X : outcome P -> vector) (d : R) (v : R),
  centred_vector P dim X d v ->
  (1) <= d ->
  (0) <= v ->
  is_integer d ->
  (moment P dim X (1)) <= (sqrt (d * v)).

Definition minkowski_statement : Prop :=
  forall (P : probability) (dim : nat) (u : outcome P -> vector) (w : outcome P -> vector),
  random_vector P dim u ->
  random_vector P dim w ->
  (sqrt (moment P dim (plus_random P u w) (2))) <= ((sqrt (moment P dim u (2))) + (sqrt (moment P dim w (2)))).

Definition moment_triangle_statement : Prop :=
  forall (P : probability) (dim : nat) (u : outcome P -> vector) (w : outcome P -> vector),
  random_vector P dim u ->
  random_vector P dim w ->
  (moment P dim (plus_random P u w) (1)) <= ((moment P dim u (1)) + (moment P dim w (1))).

Definition norm_triangle_statement : Prop :=
  forall (dim : nat) (u : vector) (w : vector),
  (euclid dim (plus_vector u w)) <= ((euclid dim u) + (euclid dim w)).

Definition cauchy_schwarz_statement : Prop :=
  forall (dim : nat) (u : vector) (w : vector),
  (inner dim u w) <= ((euclid dim u) * (euclid dim w)).

Definition norm_square_statement : Prop :=
  forall (dim : nat) (u : vector) (w : vector),
  ((euclid dim (plus_vector u w)) ^ 2) = (((2) * (inner dim u w)) + ((euclid dim u) ^ 2) + ((euclid dim w) ^ 2)).

Definition inner_of_sum_statement : Prop :=
  forall (dim : nat) (u : vector) (w : vector),
  (inner dim u (plus_vector u w)) = ((inner dim u w) + ((euclid dim u) ^ 2)).

Definition norm_difference_statement : Prop :=
  forall (dim : nat) (u : vector) (w : vector),
  ((euclid dim u) + ((-1) * (euclid dim w))) <= (euclid dim (plus_vector u w)).

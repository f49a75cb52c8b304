(* What the letters and functions of rules.json mean, in Coq's standard real numbers.

   Everything is total here; where the engine says that an expression has no value (1/0, log of 0, a sum that
   diverges), Coq gives it some value. A rule is only used where all its expressions have a value. *)
From Coq Require Import Reals ZArith List Lra Lia.
From Coquelicot Require Import Coquelicot.
Open Scope R_scope.

Definition is_integer (x : R) : Prop := exists z : Z, x = IZR z.
Definition floor (x : R) : R := IZR (Int_part x).
Definition ceiling (x : R) : R := - floor (- x).
Definition log2 (x : R) : R := ln x / ln 2.

(* The remainder of a division, with the sign of the divisor. *)
Definition modulo (x y : R) : R := x - y * floor (x / y).

(* Powers: repeated multiplication for whole exponents, so that 0^0 = 1; otherwise exp(y ln x) for x > 0,
   and 0^y = 0. *)
Definition power (x y : R) : R :=
  if Req_EM_T y (floor y) then powerRZ x (Int_part y)
  else if Rlt_dec 0 x then exp (y * ln x) else 0.

(* f(lo) + f(lo + 1) + ..., of n terms. *)
Fixpoint sum_terms (f : R -> R) (lo : R) (n : nat) : R :=
  match n with
  | O => 0
  | S k => sum_terms f lo k + f (lo + INR k)
  end.

(* The sum over the integers from lo to hi (both whole): 0 if there is none. *)
Definition sum_over (lo hi : R) (f : R -> R) : R := sum_terms f lo (Z.to_nat (Int_part (hi - lo) + 1)).

(* The infinite sum from lo on. *)
Definition converges (lo : R) (f : R -> R) : Prop := ex_series (fun n : nat => f (lo + INR n)).
Definition series (lo : R) (f : R -> R) : R := Series (fun n : nat => f (lo + INR n)).

(* The integral over all real numbers: both ends go to infinity, each for itself. *)
Definition integrable (f : R -> R) : Prop := ex_RInt_gen f (Rbar_locally m_infty) (Rbar_locally p_infty).
Definition integral (f : R -> R) : R := RInt_gen f (Rbar_locally m_infty) (Rbar_locally p_infty).

(* Binary digits. *)
Definition bit (s i : R) : R := if Z.testbit (Int_part s) (Int_part i) then 1 else 0.

(* Where the ones of a positive number stand, in increasing order, from 0. *)
Fixpoint ones (p : positive) : list Z :=
  match p with
  | xH => 0%Z :: nil
  | xO q => map Z.succ (ones q)
  | xI q => 0%Z :: map Z.succ (ones q)
  end.

Definition ones_of (z : Z) : list Z := match z with Zpos p => ones p | _ => nil end.
Definition popcount (n : R) : R := INR (length (ones_of (Int_part n))).

(* pos(1), pos(2), ... are the places of the ones of s, in increasing order. *)
Definition lists_set_bits (pos : R -> R) (s : R) : Prop :=
  forall k : nat, (k < length (ones_of (Int_part s)))%nat -> pos (INR (S k)) = IZR (nth k (ones_of (Int_part s)) 0%Z).

(* How many sets of k there are among n things, for whole n >= 0 and k: none where k is outside of 0 .. n. *)
Definition binomial (n k : R) : R :=
  if andb (0 <=? Int_part k)%Z (Int_part k <=? Int_part n)%Z
  then Binomial.C (Z.to_nat (Int_part n)) (Z.to_nat (Int_part k)) else 0.

(* The difference of b and a has Bernstein coefficients on [low, high] that are not negative. *)
Definition bernstein_order (a b x low high : R) : Prop :=
  low < high /\
  exists (n : nat) (beta : nat -> R),
    (forall k : nat, (k <= n)%nat -> 0 <= beta k) /\
    b - a = sum_f_R0 (fun k => beta k * Binomial.C n k * ((x - low) / (high - low)) ^ k
                               * (1 - (x - low) / (high - low)) ^ (n - k)) n.

(* Vectors of a dimension: their first coordinates count. *)
Definition vector := nat -> R.
Definition plus_vector (u w : vector) : vector := fun i => u i + w i.

Fixpoint inner (dim : nat) (u w : vector) : R :=
  match dim with
  | O => 0
  | S n => inner n u w + u n * w n
  end.

Definition euclid (dim : nat) (u : vector) : R := sqrt (inner dim u u).

(* What is used of a probability space: the measurable functions, those with a finite mean, and the mean. *)
Record probability := {
  outcome : Type;
  measurable : (outcome -> R) -> Prop;
  has_mean : (outcome -> R) -> Prop;
  mean : (outcome -> R) -> R;
  measurable_constant : forall c : R, measurable (fun _ => c);
  measurable_plus : forall f g, measurable f -> measurable g -> measurable (fun o => f o + g o);
  measurable_times : forall f g, measurable f -> measurable g -> measurable (fun o => f o * g o);
  measurable_sqrt : forall f, measurable f -> measurable (fun o => sqrt (f o));
  bounded_has_mean : forall f g, measurable f -> has_mean g -> (forall o, Rabs (f o) <= g o) -> has_mean f;
  constant_has_mean : forall c : R, has_mean (fun _ => c);
  plus_has_mean : forall f g, has_mean f -> has_mean g -> has_mean (fun o => f o + g o);
  times_has_mean : forall (c : R) f, has_mean f -> has_mean (fun o => c * f o);
  mean_constant : forall c : R, mean (fun _ => c) = c;
  mean_plus : forall f g, has_mean f -> has_mean g -> mean (fun o => f o + g o) = mean f + mean g;
  mean_times : forall (c : R) f, has_mean f -> mean (fun o => c * f o) = c * mean f;
  mean_monotone : forall f g, has_mean f -> has_mean g -> (forall o, f o <= g o) -> mean f <= mean g
}.

(* A random vector, or in dimension 1 a random number, with a finite second moment. *)
Definition random_vector (P : probability) (dim : nat) (u : outcome P -> vector) : Prop :=
  (forall i : nat, (i < dim)%nat -> measurable P (fun o => u o i)) /\
  has_mean P (fun o => euclid dim (u o) ^ 2).

Definition plus_random (P : probability) (u w : outcome P -> vector) : outcome P -> vector :=
  fun o => plus_vector (u o) (w o).

Definition moment (P : probability) (dim : nat) (u : outcome P -> vector) (p : R) : R :=
  mean P (fun o => power (euclid dim (u o)) p).

(* A vector of d coordinates of mean 0 and variance v. That they are Gaussian and independent is not needed. *)
Definition centred_vector (P : probability) (dim : nat) (u : outcome P -> vector) (d v : R) : Prop :=
  random_vector P dim u /\ d = INR dim /\
  forall i : nat, (i < dim)%nat -> mean P (fun o => u o i) = 0 /\ mean P (fun o => (u o i - 0) ^ 2) = v.

;; Float32 numbers as JSON text, with the very characters that JavaScript prints for them. Compiled into digits.wasm by
;; test/laws/digits.test.ts, which holds one to the other: with `UPDATE_GOLDENS=1` it is written anew.
;;
;; It is Schubfach (Raffaele Giulietti, "The Schubfach way to render doubles", 2020), cut down to doubles that were
;; float32 before. Such a number is M * 2^E with 24 bits of M, and the unit in the last place of the *double* is
;; 2^(E-29). What lies within half such a unit of the number is read as that number again. Wanted is the shortest
;; decimal in this interval, and the closest of these. The double ends in 29 zero bits, so it is even, and what lies on
;; the ends of its interval is read as that number too.
;;
;; Let 10^k be the largest power of ten that is not wider than the interval, and v = M * 2^E / 10^k. It has 16 or 17
;; digits before its point.
;;  - At most one multiple of ten lies in the interval around v. If one does, it is the answer: shorter ones can only be
;;    the same without zeros at the end.
;;  - If none does, the answer is the integer closest to v, or the even one of two. It does not end in zero.
;; M is short, so v takes three multiplications, and neither where the number ends nor how long it is takes a branch:
;; wrong guesses at these would cost as much as all the rest.
;;
;; Memory: 64 bytes for drafts, then a row of 64 bytes for each k from -61 to 22. With 2^q the smallest power of two
;; that is not below 10^k, it holds
;;    0, 8, 16   2^(q+29) / 10^k with 30 bits before its point and 81 after it, rounded up, in three parts of 37 bits,
;;               the lowest first: the product of each with M, which is shifted by up to three bits, fits into 64
;;   24          2^(q-1) / 10^k, half the interval, with 60 bits after its point, and a little more for what is lost in
;;               rounding
;;   32          2^(q+29) / 10^(k+8), with 33 bits after its point, rounded down
;;   40          q
(module
  (memory (export "memory") 1)
  ;; An integer goes on with zeros after its 17 digits.
  (data (i32.const 0) "0000000000000000000000000000000000000000000000000000000000000000")
  ;; Computed when this is compiled.
  (data (i32.const 64) "the rows")

  ;; The numbers from $from up to $end, each with a comma after it, from $out on. Returns where they end. Up to 32 bytes
  ;; more are overwritten.
  (func (export "print") (param $from i32) (param $end i32) (param $out i32) (result i32)
    (local $word i32) (local $size i32) (local $exponent i32) (local $stored i32) (local $missing i32)
    (local $k i32) (local $row i32) (local $shift i64) (local $significand i64)
    (local $down i64) (local $up i64) (local $half i64)
    (local $low i64) (local $middle i64) (local $high i64) (local $fraction i64)
    (local $left i64) (local $right i64) (local $tens i64) (local $distance i64)
    (local $first i64) (local $firsts v128) (local $digits v128) (local $count i32) (local $at i32)
    (block $done
      (loop $next
        (br_if $done (i32.ge_u (local.get $from) (local.get $end)))
        (local.set $word (i32.load (local.get $from)))
        (local.set $from (i32.add (local.get $from) (i32.const 4)))
        ;; A sign is always written. If there is none, it is written over.
        (i32.store8 (local.get $out) (i32.const 0x2d))
        (local.set $out (i32.add (local.get $out) (i32.shr_u (local.get $word) (i32.const 31))))
        (local.set $size (i32.and (local.get $word) (i32.const 0x7fffffff)))
        (local.set $exponent (i32.shr_u (local.get $size) (i32.const 23)))
        (local.set $stored (i32.and (local.get $word) (i32.const 0x7fffff)))

        ;; The smallest exponent and the largest mean something else.
        (if (i32.ge_u (i32.sub (local.get $exponent) (i32.const 1)) (i32.const 254))
          (then
            (if (local.get $exponent)
              (then
                ;; Not finite: JSON.stringify writes null, without a sign.
                (local.set $out
                  (i32.sub (local.get $out) (i32.shr_u (local.get $word) (i32.const 31))))
                (i64.store (local.get $out) (i64.const 0x2c6c6c756e)) ;; null,
                (local.set $out (i32.add (local.get $out) (i32.const 5)))
                (br $next)))
            (if (i32.eqz (local.get $stored))
              (then
                (i32.store16 (local.get $out) (i32.const 0x2c30)) ;; 0,
                (local.set $out (i32.add (local.get $out) (i32.const 2)))
                (br $next)))
            ;; Subnormal as float32. A double has exponents for these too, and all its bits.
            (local.set $missing (i32.sub (i32.clz (local.get $stored)) (i32.const 8)))
            (local.set $stored
              (i32.and (i32.shl (local.get $stored) (local.get $missing)) (i32.const 0x7fffff)))
            (local.set $exponent (i32.sub (i32.const 1) (local.get $missing)))))

        ;; From here on it is that of the unit in the last place, E - 29. Its logarithm, rounded down, is k:
        ;; 1262611 / 2^22 is close enough to log10(2) for all exponents there are.
        (local.set $exponent (i32.sub (local.get $exponent) (i32.const 179)))
        (local.set $k
          (i32.shr_s (i32.mul (local.get $exponent) (i32.const 1262611)) (i32.const 22)))
        (local.set $row (i32.shl (i32.add (local.get $k) (i32.const 62)) (i32.const 6)))
        (local.set $shift (i64.extend_i32_u
          (i32.sub (local.get $exponent) (i32.load offset=40 (local.get $row)))))
        (local.set $significand (i64.shl
          (i64.extend_i32_u (i32.or (local.get $stored) (i32.const 0x800000)))
          (local.get $shift)))

        ;; How far the interval reaches, and the largest fraction that is rounded down.
        (local.set $up (i64.shl (i64.load offset=24 (local.get $row)) (local.get $shift)))
        (local.set $down (local.get $up))
        (local.set $half (i64.const 0x8000000000000000))
        (if (i32.eqz (local.get $stored))
          (then
            ;; Below a power of two the doubles are twice as close together. The paper has another k for intervals
            ;; so much narrower; but there are only 277 such numbers, and none of them needs it.
            (local.set $down (i64.shr_u (local.get $up) (i64.const 1)))
            ;; The integer below v may be outside, although it is the closest.
            (if (i64.lt_u (local.get $down) (i64.const 0x800000000000000))
              (then (local.set $half (i64.shl (local.get $down) (i64.const 4)))))))

        ;; v: after its point are the last 7 bits of $high, and the last 37 of $middle.
        (local.set $low (i64.mul (local.get $significand) (i64.load (local.get $row))))
        (local.set $middle (i64.add
          (i64.mul (local.get $significand) (i64.load offset=8 (local.get $row)))
          (i64.shr_u (local.get $low) (i64.const 37))))
        (local.set $high (i64.add
          (i64.mul (local.get $significand) (i64.load offset=16 (local.get $row)))
          (i64.shr_u (local.get $middle) (i64.const 37))))
        (local.set $fraction (i64.or
          (i64.shl (local.get $high) (i64.const 57))
          (i64.shr_u (i64.shl (local.get $middle) (i64.const 27)) (i64.const 7))))

        ;; In two halves, eight digits in the right one. If that begins with 0, the left one may be one too small, and
        ;; the right one 10^8 too large, which is put right below.
        (local.set $left (i64.shr_u
          (i64.mul (local.get $significand) (i64.load offset=32 (local.get $row)))
          (i64.const 33)))
        (local.set $right (i64.sub
          (i64.shr_u (local.get $high) (i64.const 7))
          (i64.mul (local.get $left) (i64.const 100000000))))

        ;; The multiple of ten below, the one above, or the closest integer.
        (local.set $tens (i64.mul (i64.const 10)
          (i64.shr_u (i64.mul (local.get $right) (i64.const 3435973837)) (i64.const 35))))
        (local.set $distance (i64.or
          (i64.shl (i64.sub (local.get $right) (local.get $tens)) (i64.const 60))
          (i64.shr_u (local.get $fraction) (i64.const 4))))
        (local.set $right (select
          (local.get $tens)
          (select
            (i64.add (local.get $tens) (i64.const 10))
            (i64.add (local.get $right) (i64.extend_i32_u (i64.gt_u
              (i64.add (local.get $fraction) (i64.and (local.get $right) (i64.const 1)))
              (local.get $half))))
            (i64.le_u
              (i64.sub (i64.const 0xa000000000000000) (local.get $distance))
              (local.get $up)))
          (i64.le_u (local.get $distance) (local.get $down))))
        (if (i64.ge_u (local.get $right) (i64.const 100000000))
          (then
            (local.set $right (i64.sub (local.get $right) (i64.const 100000000)))
            (local.set $left (i64.add (local.get $left) (i64.const 1)))))

        ;; Seventeen digits: one, which may be zero, and twice eight.
        (local.set $first (i64.shr_u
          (i64.mul (local.get $left) (i64.const 1441151881)) (i64.const 57)))
        (local.set $left
          (i64.sub (local.get $left) (i64.mul (local.get $first) (i64.const 100000000))))
        ;; These into four times four,
        (local.set $digits (i64x2.replace_lane 1
          (i64x2.splat (call $halve (local.get $left)))
          (call $halve (local.get $right))))
        ;; eight times two,
        (local.set $firsts (i32x4.shr_u
          (i32x4.dot_i16x8_s (local.get $digits) (v128.const i32x4 10486 10486 10486 10486))
          (i32.const 20)))
        (local.set $digits (i32x4.add (local.get $firsts)
          (i32x4.shl
            (i32x4.sub (local.get $digits)
              (i32x4.dot_i16x8_s (local.get $firsts) (v128.const i32x4 100 100 100 100)))
            (i32.const 16))))
        ;; and sixteen times one: first + 256 * (both - 10 * first). A shift would take four instructions.
        (local.set $firsts (i16x8.shr_u
          (i16x8.mul (local.get $digits) (v128.const i16x8 103 103 103 103 103 103 103 103))
          (i32.const 10)))
        (local.set $digits (i16x8.sub
          (i16x8.mul (local.get $digits) (v128.const i16x8 256 256 256 256 256 256 256 256))
          (i16x8.mul (local.get $firsts)
            (v128.const i16x8 2559 2559 2559 2559 2559 2559 2559 2559))))
        ;; How many of the seventeen there are up to the last that is not zero.
        (local.set $count (i32.sub (i32.const 32)
          (i32.clz (i32.or (i32.const 1)
            (i32.shl
              (i8x16.bitmask (i8x16.gt_s (local.get $digits) (v128.const i64x2 0 0)))
              (i32.const 1))))))
        (local.set $digits (v128.or (local.get $digits)
          (v128.const i64x2 0x3030303030303030 0x3030303030303030)))
        (local.set $first (i64.or (local.get $first) (i64.const 0x30)))

        ;; From the smallest number above 1e-6 to the largest below 1 all seventeen have fixed places after the point,
        ;; zeros at the beginning included. From 0.5 on, only sixteen: the first, a zero, is where the point will be.
        (if (i32.lt_u (i32.sub (local.get $size) (i32.const 0x358637be)) (i32.const 0x9f9c842))
          (then
            (local.set $at (i32.sub (i32.sub (local.get $out) (i32.const 15)) (local.get $k)))
            (i64.store (local.get $out) (i64.const 0x3030303030303030))
            (i64.store8 (local.get $at) (local.get $first))
            (v128.store offset=1 (local.get $at) (local.get $digits))
            (i32.store16 (local.get $out) (i32.const 0x2e30)) ;; 0.
            (local.set $out (i32.add (local.get $at) (local.get $count)))
            (i32.store8 (local.get $out) (i32.const 0x2c))
            (local.set $out (i32.add (local.get $out) (i32.const 1)))
            (br $next)))

        (i64.store8 (i32.const 0) (local.get $first))
        (v128.store (i32.const 1) (local.get $digits))
        (local.set $out (call $lay_out
          (local.get $out) (local.get $count) (i32.add (local.get $k) (i32.const 17))))
        (br $next)))
    (local.get $out))

  ;; Eight digits as twice four, the first of them in the lower half: first + 2^32 * (all - 10^4 * first).
  (func $halve (param $all i64) (result i64)
    (i64.sub
      (i64.shl (local.get $all) (i64.const 32))
      (i64.mul
        (i64.shr_u (i64.mul (local.get $all) (i64.const 109951163)) (i64.const 40))
        (i64.const 42949672959999))))

  ;; From the draft to the text, for numbers from 1 on and for those with an exponent. It has $count digits, and a point
  ;; after the first $before. Returns where the comma ends.
  (func $lay_out (param $out i32) (param $count i32) (param $before i32) (result i32)
    (local $begin i32) (local $whole i32) (local $power i32)
    ;; The first digit may be zero, the second is not.
    (local.set $begin (i32.eq (i32.load8_u (i32.const 0)) (i32.const 0x30)))
    (local.set $whole (i32.sub (local.get $before) (local.get $begin)))

    (if (i32.lt_u (i32.sub (local.get $whole) (i32.const 1)) (i32.const 21))
      (then
        (v128.store (local.get $out) (v128.load (local.get $begin)))
        (i64.store offset=16 (local.get $out) (i64.load offset=16 (local.get $begin)))
        (local.set $out (i32.add (local.get $out) (local.get $whole)))
        (if (i32.gt_s (local.get $count) (local.get $before))
          (then
            (i32.store8 (local.get $out) (i32.const 0x2e))
            (v128.store offset=1 (local.get $out) (v128.load (local.get $before)))
            (local.set $out (i32.add (i32.add (local.get $out) (i32.const 1))
              (i32.sub (local.get $count) (local.get $before))))))
        (i32.store8 (local.get $out) (i32.const 0x2c))
        (return (i32.add (local.get $out) (i32.const 1)))))

    (i32.store8 (local.get $out) (i32.load8_u (local.get $begin)))
    (local.set $out (i32.add (local.get $out) (i32.const 1)))
    (local.set $count (i32.sub (i32.sub (local.get $count) (local.get $begin)) (i32.const 1)))
    (if (local.get $count)
      (then
        (i32.store8 (local.get $out) (i32.const 0x2e))
        (v128.store offset=1 (local.get $out) (v128.load offset=1 (local.get $begin)))
        (local.set $out (i32.add (i32.add (local.get $out) (i32.const 1)) (local.get $count)))))
    (local.set $power (i32.sub (local.get $whole) (i32.const 1)))
    (if (i32.lt_s (local.get $power) (i32.const 0))
      (then
        (i32.store16 (local.get $out) (i32.const 0x2d65)) ;; e-
        (local.set $power (i32.sub (i32.const 0) (local.get $power))))
      (else (i32.store16 (local.get $out) (i32.const 0x2b65)))) ;; e+
    (local.set $out (i32.add (local.get $out) (i32.const 2)))
    (if (i32.ge_u (local.get $power) (i32.const 10))
      (then
        (i32.store8 (local.get $out)
          (i32.add (i32.const 0x30) (i32.div_u (local.get $power) (i32.const 10))))
        (local.set $out (i32.add (local.get $out) (i32.const 1)))))
    (i32.store16 (local.get $out) ;; its last digit, and a comma
      (i32.add (i32.const 0x2c30) (i32.rem_u (local.get $power) (i32.const 10))))
    (i32.add (local.get $out) (i32.const 2))))

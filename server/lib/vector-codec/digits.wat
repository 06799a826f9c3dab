;; Prints float32 numbers as JSON text: for each number the shortest decimal that reads back as the same float32, and of
;; several such decimals the closest one. Compiled into digits.wasm by test/laws/digits.test.ts, which also checks that
;; the two files agree; with `UPDATE_GOLDENS=1` it writes digits.wasm anew.
;;
;; The algorithm is Schubfach (Raffaele Giulietti, "The Schubfach way to render doubles", 2020) for float32. A number is
;; c * 2^q with 24 bits of c. Every decimal between the midpoints to its two neighbors reads back as this number; the
;; midpoints themselves do if c is even. Let 10^k be the largest power of ten that is not wider than this interval, and
;; v = c * 2^q / 10^k. Then v has at most 9 digits before its point, and
;;  - at most one multiple of ten lies inside the interval around v. If one does, it is the result: every shorter decimal
;;    is this one without its trailing zeros.
;;  - if none does, the result is the integer below v or the one above it: the only one inside, or the closer of the two.
;; The choice between these is made by arithmetic: a branch would be mispredicted for every second number, and the
;; compiler makes branches of `select`.
;;
;; There are two passes. The first converts each number into a record of fixed size, the second lays the digits out as
;; text. In one pass, where a number's text begins would depend on all digits before it, and a processor that does not
;; load past a store with an unknown address would convert one number after the other: 38 ns a number, and 19 this way.
;;
;; Memory:
;;     0   64 bytes for a draft of the digits
;;    64   one i64 for each power 10^-31 to 10^45, scaled by a power of two to exactly 64 bits and rounded up
;;  1024   records of 16 bytes: eight digits in ASCII; k; the digit before them; the number of digits up to the last one
;;         that is not zero; 1 for a minus; and the layout: 0 below 1 without exponent, 1 any other, 2 zero, 3 not finite
(module
  (memory (export "memory") 1)
  ;; An integer above 10^9 continues with zeros after its 9 digits.
  (data (i32.const 0) "0000000000000000000000000000000000000000000000000000000000000000")
  ;; Computed when this file is compiled.
  (data (i32.const 64) "the powers of ten")

  ;; Prints the numbers from $from up to $end, each followed by a comma, to $out and onwards. Returns the end of the
  ;; text. Overwrites up to 32 bytes behind it.
  (func (export "print") (param $from i32) (param $end i32) (param $out i32) (result i32)
    (call $lay_out_all (call $convert (local.get $from) (local.get $end)) (local.get $out)))

  ;; Writes the records, and returns their end.
  (func $convert (param $from i32) (param $end i32) (result i32)
    (local $record i32) (local $layout i32)
    (local $word i32) (local $size i32) (local $exponent i32) (local $stored i32)
    (local $c i32) (local $q i32) (local $k i32) (local $h i32) (local $power i64)
    (local $factor i64) (local $scaled i64) (local $half i64) (local $left i64) (local $right i64)
    (local $odd i32) (local $closer i32)
    (local $lower i32) (local $v i32) (local $upper i32)
    (local $below i32) (local $tens i32) (local $closest i32) (local $above i32) (local $one i32)
    (local $first i32) (local $digits i64) (local $quotients i64) (local $count i32) (local $at i32)
    (local.set $record (i32.const 1024))
    (block $done
      (loop $next
        (br_if $done (i32.ge_u (local.get $from) (local.get $end)))
        (local.set $word (i32.load (local.get $from)))
        (local.set $from (i32.add (local.get $from) (i32.const 4)))
        (local.set $size (i32.and (local.get $word) (i32.const 0x7fffffff)))
        (local.set $exponent (i32.shr_u (local.get $size) (i32.const 23)))
        (local.set $stored (i32.and (local.get $word) (i32.const 0x7fffff)))
        (local.set $c (i32.or (local.get $stored) (i32.const 0x800000)))
        (local.set $q (i32.sub (local.get $exponent) (i32.const 150)))
        (local.set $closer (i32.eqz (local.get $stored)))

        ;; From 1e-6 to the largest number below 1: 0.000001 to 0.99999994.
        (local.set $layout
          (i32.ge_u (i32.sub (local.get $size) (i32.const 0x358637bd)) (i32.const 0x9f9c843)))
        ;; The smallest exponent and the largest have a meaning of their own.
        (if (i32.ge_u (i32.sub (local.get $exponent) (i32.const 1)) (i32.const 254))
          (then
            ;; Subnormal, zero, or not finite.
            (local.set $layout (select (i32.const 3)
              (select (i32.const 1) (i32.const 2) (local.get $stored))
              (local.get $exponent)))
            (local.set $c (local.get $stored))
            (local.set $q (i32.const -149))))
        ;; The neighbor below a power of two is half as far away as the one above, but not for the smallest exponent.
        (local.set $closer
          (i32.and (local.get $closer) (i32.gt_u (local.get $exponent) (i32.const 1))))

        ;; k: 1262611 / 2^22 is close enough to log10(2), 524031 / 2^22 to log10(4/3), for every float32 exponent.
        (local.set $k (i32.shr_s
          (i32.sub
            (i32.mul (local.get $q) (i32.const 1262611))
            (i32.mul (local.get $closer) (i32.const 524031)))
          (i32.const 22)))
        ;; How far the significand is shifted to fit the scaled power: 1741647 / 2^19 is close enough to log2(10).
        (local.set $h (i32.add (i32.add (local.get $q) (i32.const 1))
          (i32.shr_s
            (i32.mul (i32.sub (i32.const 0) (local.get $k)) (i32.const 1741647))
            (i32.const 19))))
        (local.set $power (i64.load offset=64
          (i32.mul (i32.sub (i32.const 31) (local.get $k)) (i32.const 8))))

        ;; Four times v, with 32 bits after its point: the product of c and the power without its last 32 bits.
        (local.set $odd (i32.and (local.get $c) (i32.const 1)))
        (local.set $factor (i64.extend_i32_u (i32.shl
          (local.get $c) (i32.add (local.get $h) (i32.const 2)))))
        (local.set $scaled (i64.add
          (i64.mul (i64.shr_u (local.get $power) (i64.const 32)) (local.get $factor))
          (i64.shr_u
            (i64.mul (i64.and (local.get $power) (i64.const 0xffffffff)) (local.get $factor))
            (i64.const 32))))
        ;; Half of the interval: the same product with 2, or below a power of two with 1, in place of 4c.
        (local.set $half (i64.shr_u
          (local.get $power) (i64.extend_i32_u (i32.sub (i32.const 31) (local.get $h)))))
        ;; The ends of the interval, and v, rounded to odd: the last bit also tells whether any bit after the point is
        ;; set. The power and the half are rounded, so an exact integer can have up to 2 in its last bits.
        (local.set $left (i64.sub (local.get $scaled)
          (i64.shr_u (local.get $half) (i64.extend_i32_u (local.get $closer)))))
        (local.set $right (i64.add (local.get $scaled) (i64.add (local.get $half) (i64.const 1))))
        (local.set $lower (i32.add (local.get $odd) (i32.or
          (i32.wrap_i64 (i64.shr_u (local.get $left) (i64.const 32)))
          (i32.gt_u (i32.wrap_i64 (local.get $left)) (i32.const 2)))))
        (local.set $v (i32.or
          (i32.wrap_i64 (i64.shr_u (local.get $scaled) (i64.const 32)))
          (i32.gt_u (i32.wrap_i64 (local.get $scaled)) (i32.const 2))))
        (local.set $upper (i32.sub
          (i32.or
            (i32.wrap_i64 (i64.shr_u (local.get $right) (i64.const 32)))
            (i32.gt_u (i32.wrap_i64 (local.get $right)) (i32.const 2)))
          (local.get $odd)))

        ;; The closer integer that is inside the interval.
        (local.set $below (i32.shr_u (local.get $v) (i32.const 2)))
        (local.set $at (i32.shl (local.get $below) (i32.const 2)))
        (local.set $above (i32.le_u (i32.add (local.get $at) (i32.const 4)) (local.get $upper)))
        (local.set $one (i32.xor (local.get $above) (i32.le_u (local.get $lower) (local.get $at))))
        (local.set $closest (i32.add (local.get $below) (i32.or
          (i32.and (local.get $above) (local.get $one))
          ;; Above the middle, or in the middle between an odd integer and an even one.
          (i32.gt_u
            (i32.add (local.get $v) (i32.and (local.get $below) (i32.const 1)))
            (i32.add (i32.add (local.get $at) (i32.const 2)) (i32.shl (local.get $one) (i32.const 2)))))))
        ;; The multiple of ten inside the interval, if there is one. One float32 is excepted, 7.0385307e-26: its multiple of
        ;; ten is so close to the end of the interval that a reader who rounds it to a double first gets the neighbor.
        (local.set $tens (i32.wrap_i64 (i64.shr_u
          (i64.mul (i64.extend_i32_u (local.get $below)) (i64.const 3435973837)) (i64.const 35))))
        (local.set $at (i32.mul (local.get $tens) (i32.const 40)))
        (local.set $above (i32.le_u (i32.add (local.get $at) (i32.const 40)) (local.get $upper)))
        (local.set $one (i32.and
          (i32.ne (local.get $size) (i32.const 0x15ae43fd))
          (i32.xor (local.get $above) (i32.le_u (local.get $lower) (local.get $at)))))
        (local.set $tens (i32.mul (i32.add (local.get $tens) (local.get $above)) (i32.const 10)))
        (local.set $closest (i32.add (local.get $closest) (i32.and
          (i32.sub (local.get $tens) (local.get $closest))
          (i32.sub (i32.const 0) (local.get $one)))))

        ;; Nine digits, zeros at the beginning included: one, and eight in the bytes of an i64.
        (local.set $first (i32.ge_u (local.get $closest) (i32.const 100000000)))
        (local.set $digits (i64.extend_i32_u
          (i32.sub (local.get $closest) (i32.mul (local.get $first) (i32.const 100000000)))))
        ;; Twice four: quotient + 2^32 * (all - 10^4 * quotient),
        (local.set $quotients (i64.shr_u
          (i64.mul (local.get $digits) (i64.const 109951163)) (i64.const 40)))
        (local.set $digits (i64.add (local.get $quotients) (i64.shl
          (i64.sub (local.get $digits) (i64.mul (local.get $quotients) (i64.const 10000)))
          (i64.const 32))))
        ;; four times two,
        (local.set $quotients (i64.and
          (i64.shr_u (i64.mul (local.get $digits) (i64.const 10486)) (i64.const 20))
          (i64.const 0x7f0000007f)))
        (local.set $digits (i64.add (local.get $quotients) (i64.shl
          (i64.sub (local.get $digits) (i64.mul (local.get $quotients) (i64.const 100)))
          (i64.const 16))))
        ;; and eight times one.
        (local.set $quotients (i64.and
          (i64.shr_u (i64.mul (local.get $digits) (i64.const 103)) (i64.const 10))
          (i64.const 0xf000f000f000f)))
        (local.set $digits (i64.add (local.get $quotients) (i64.shl
          (i64.sub (local.get $digits) (i64.mul (local.get $quotients) (i64.const 10)))
          (i64.const 8))))
        ;; The number of digits up to the last one that is not zero.
        (local.set $count (i32.add (i32.const 1) (i32.shr_u
          (i32.sub (i32.const 71) (i32.wrap_i64 (i64.clz (local.get $digits))))
          (i32.const 3))))
        (i64.store (local.get $record)
          (i64.or (local.get $digits) (i64.const 0x3030303030303030)))
        (i32.store offset=8 (local.get $record) (local.get $k))
        (i32.store offset=12 (local.get $record) (i32.or
          (i32.or
            (i32.or (local.get $first) (i32.const 0x30))
            (i32.shl (local.get $count) (i32.const 8)))
          (i32.or
            (i32.shl (i32.shr_u (local.get $word) (i32.const 31)) (i32.const 16))
            (i32.shl (local.get $layout) (i32.const 24)))))
        (local.set $record (i32.add (local.get $record) (i32.const 16)))
        (br $next)))
    (local.get $record))

  ;; Writes the text of the records up to $end, and returns its end.
  (func $lay_out_all (param $end i32) (param $out i32) (result i32)
    (local $record i32) (local $k i32) (local $count i32) (local $layout i32) (local $at i32)
    (local.set $record (i32.const 1024))
    (block $done
      (loop $next
        (br_if $done (i32.ge_u (local.get $record) (local.get $end)))
        (local.set $k (i32.load offset=8 (local.get $record)))
        (local.set $count (i32.load8_u offset=13 (local.get $record)))
        (local.set $layout (i32.load8_u offset=15 (local.get $record)))
        ;; The minus is always written. If the number is positive, the next byte overwrites it.
        (i32.store8 (local.get $out) (i32.const 0x2d))
        (local.set $out (i32.add (local.get $out) (i32.load8_u offset=14 (local.get $record))))
        (if (i32.eqz (local.get $layout))
          (then
            ;; The nine digits have fixed places after the point, zeros at the beginning included. From 0.1 on the first
            ;; of them, a zero, is where the point will be.
            (local.set $at (i32.sub (i32.sub (local.get $out) (i32.const 7)) (local.get $k)))
            (i64.store (local.get $out) (i64.const 0x3030303030303030))
            (i32.store8 (local.get $at) (i32.load8_u offset=12 (local.get $record)))
            (i64.store offset=1 (local.get $at) (i64.load (local.get $record)))
            (i32.store16 (local.get $out) (i32.const 0x2e30)) ;; 0.
            (local.set $out (i32.add (local.get $at) (local.get $count)))
            (i32.store8 (local.get $out) (i32.const 0x2c))
            (local.set $out (i32.add (local.get $out) (i32.const 1))))
          (else
            (if (i32.eq (local.get $layout) (i32.const 1))
              (then
                (i32.store8 (i32.const 0) (i32.load8_u offset=12 (local.get $record)))
                (i64.store (i32.const 1) (i64.load (local.get $record)))
                (local.set $out (call $lay_out
                  (local.get $out) (local.get $count) (i32.add (local.get $k) (i32.const 9)))))
              (else
                (if (i32.eq (local.get $layout) (i32.const 2))
                  (then
                    (i32.store16 (local.get $out) (i32.const 0x2c30)) ;; 0,
                    (local.set $out (i32.add (local.get $out) (i32.const 2))))
                  (else
                    ;; JSON.stringify writes null, without a sign.
                    (local.set $out
                      (i32.sub (local.get $out) (i32.load8_u offset=14 (local.get $record))))
                    (i64.store (local.get $out) (i64.const 0x2c6c6c756e)) ;; null,
                    (local.set $out (i32.add (local.get $out) (i32.const 5)))))))))
        (local.set $record (i32.add (local.get $record) (i32.const 16)))
        (br $next)))
    (local.get $out))

  ;; Writes the draft as text, for numbers from 1 on and for numbers with an exponent. The draft has $count digits, and
  ;; its point is behind the first $before. Returns the end of the comma.
  (func $lay_out (param $out i32) (param $count i32) (param $before i32) (result i32)
    (local $begin i32) (local $whole i32) (local $power i32)
    (loop $zeros
      (if (i32.eq (i32.load8_u (local.get $begin)) (i32.const 0x30))
        (then
          (local.set $begin (i32.add (local.get $begin) (i32.const 1)))
          (br $zeros))))
    (local.set $whole (i32.sub (local.get $before) (local.get $begin)))

    (if (i32.lt_u (i32.sub (local.get $whole) (i32.const 1)) (i32.const 21))
      (then
        (i64.store (local.get $out) (i64.load (local.get $begin)))
        (i64.store offset=8 (local.get $out) (i64.load offset=8 (local.get $begin)))
        (i64.store offset=16 (local.get $out) (i64.load offset=16 (local.get $begin)))
        (local.set $out (i32.add (local.get $out) (local.get $whole)))
        (if (i32.gt_s (local.get $count) (local.get $before))
          (then
            (i32.store8 (local.get $out) (i32.const 0x2e))
            (i64.store offset=1 (local.get $out) (i64.load (local.get $before)))
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
        (i64.store offset=1 (local.get $out) (i64.load offset=1 (local.get $begin)))
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
    (i32.store16 (local.get $out) ;; the last digit of the exponent, and a comma
      (i32.add (i32.const 0x2c30) (i32.rem_u (local.get $power) (i32.const 10))))
    (i32.add (local.get $out) (i32.const 2))))

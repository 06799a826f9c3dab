;; Reads the numbers of a JSON list as float32, each the one that JSON.parse and Math.fround return. Compiled into
;; decimals.wasm by test/laws/decimals.test.ts, which also checks that the two files agree; with `UPDATE_GOLDENS=1` it
;; writes decimals.wasm anew.
;;
;; A number is m * 10^e, with up to 19 digits in m. Both m and the power of ten are rounded to a double, and so is their
;; product or quotient: it is within four units in the last place of the double that JSON.parse returns. The two have the
;; same float32 unless they are next to the middle between two float32 numbers. Such a number is not read here (one of
;; 30 million random numbers), nor is one with more digits, or outside of the normal float32 range.
(module
  ;; Bytes 0 to 511: the doubles 10^0 to 10^63, which the caller stores. Bytes 512 to 519: the results of `read`. Bytes
  ;; 520 to 591: the integers 10^0 to 10^8.
  (memory (export "memory") 4)
  (data (i32.const 520)
    "\01\00\00\00\00\00\00\00\0a\00\00\00\00\00\00\00\64\00\00\00\00\00\00\00"
    "\e8\03\00\00\00\00\00\00\10\27\00\00\00\00\00\00\a0\86\01\00\00\00\00\00"
    "\40\42\0f\00\00\00\00\00\80\96\98\00\00\00\00\00\00\e1\f5\05\00\00\00\00")

  ;; Reads numbers from $at up to $end, where the byte 0 follows, and writes them to $to. Stops before the first number
  ;; that it does not read, or after the closing bracket, and returns the offset. Stores the end of the numbers that were
  ;; written at 512, and at 516 whether one of them is not exactly a float32.
  (func (export "read") (param $at i32) (param $end i32) (param $to i32) (result i32)
    (local $p i32) (local $byte i32) (local $minus i32) (local $digits i32) (local $fraction i32)
    (local $exponent i32) (local $power i32) (local $sign i32)
    (local $count i32) (local $other i32)
    (local $m i64) (local $chunk i64) (local $bits i64) (local $double f64) (local $float f32)
    (block $stop
      (loop $number
        (local.set $p (local.get $at))
        (local.set $byte (i32.load8_u (local.get $p)))
        (if (i32.le_u (local.get $byte) (i32.const 0x20))
          (then
            (local.set $p (call $skip_space (local.get $p)))
            (local.set $byte (i32.load8_u (local.get $p)))))
        (local.set $minus (i32.eq (local.get $byte) (i32.const 0x2d)))
        (local.set $p (i32.add (local.get $p) (local.get $minus)))

        ;; The digits before the point. A zero is the only one.
        (local.set $m (i64.const 0))
        (local.set $digits (i32.const 0))
        (local.set $exponent (i32.const 0))
        (local.set $byte (i32.sub (i32.load8_u (local.get $p)) (i32.const 0x30)))
        (br_if $stop (i32.gt_u (local.get $byte) (i32.const 9)))
        (if (local.get $byte)
          (then
            (loop $digit
              (local.set $m (i64.add (i64.mul (local.get $m) (i64.const 10)) (i64.extend_i32_u (local.get $byte))))
              (local.set $digits (i32.add (local.get $digits) (i32.const 1)))
              (local.set $p (i32.add (local.get $p) (i32.const 1)))
              (local.set $byte (i32.sub (i32.load8_u (local.get $p)) (i32.const 0x30)))
              (br_if $digit (i32.le_u (local.get $byte) (i32.const 9)))))
          (else
            (local.set $p (i32.add (local.get $p) (i32.const 1)))
            (local.set $byte (i32.sub (i32.load8_u (local.get $p)) (i32.const 0x30)))
            (br_if $stop (i32.le_u (local.get $byte) (i32.const 9)))))

        ;; The digits after the point, eight at a time. Without branches for their number, which cannot be predicted:
        ;; the digits before the first other byte are moved to the end of the eight, after zeros.
        (if (i32.eq (local.get $byte) (i32.const -2)) ;; a point
          (then
            (local.set $p (i32.add (local.get $p) (i32.const 1)))
            (local.set $fraction (local.get $p))
            (loop $eight
              (local.set $chunk (i64.load align=1 (local.get $p)))
              (local.set $count (i32.shr_u
                (i32.wrap_i64 (i64.ctz (i64.and
                  (i64.or
                    (i64.add (local.get $chunk) (i64.const 0x4646464646464646))
                    (i64.sub (local.get $chunk) (i64.const 0x3030303030303030)))
                  (i64.const 0x8080808080808080))))
                (i32.const 3)))
              (local.set $chunk (i64.sub (local.get $chunk) (i64.const 0x3030303030303030)))
              ;; In two shifts: one of 64 bits would have no effect.
              (local.set $bits (i64.extend_i32_u
                (i32.sub (i32.const 32) (i32.shl (local.get $count) (i32.const 2)))))
              (local.set $chunk (i64.shl (i64.shl (local.get $chunk) (local.get $bits)) (local.get $bits)))
              ;; Pairs, then fours, then all.
              (local.set $chunk (i64.add
                (i64.mul (local.get $chunk) (i64.const 10))
                (i64.shr_u (local.get $chunk) (i64.const 8))))
              (local.set $m (i64.add
                (i64.mul
                  (local.get $m)
                  (i64.load offset=520 (i32.shl (local.get $count) (i32.const 3))))
                (i64.shr_u
                  (i64.add
                    (i64.mul
                      (i64.and (local.get $chunk) (i64.const 0x000000ff000000ff))
                      (i64.const 0x000f424000000064))
                    (i64.mul
                      (i64.and
                        (i64.shr_u (local.get $chunk) (i64.const 16))
                        (i64.const 0x000000ff000000ff))
                      (i64.const 0x0000271000000001)))
                  (i64.const 32))))
              (local.set $p (i32.add (local.get $p) (local.get $count)))
              (br_if $eight (i32.eq (local.get $count) (i32.const 8))))
            (br_if $stop (i32.eq (local.get $p) (local.get $fraction)))
            (local.set $exponent (i32.sub (local.get $fraction) (local.get $p)))
            (local.set $byte (i32.sub (i32.load8_u (local.get $p)) (i32.const 0x30)))))
        ;; Zeros before the first other digit are not counted.
        (if (i32.gt_u (i32.sub (local.get $digits) (local.get $exponent)) (i32.const 19))
          (then
            (br_if $stop (local.get $digits))
            (loop $zero
              (if (i32.eq (i32.load8_u (local.get $fraction)) (i32.const 0x30))
                (then
                  (local.set $fraction (i32.add (local.get $fraction) (i32.const 1)))
                  (br $zero))))
            (br_if $stop
              (i32.gt_s (i32.sub (local.get $p) (local.get $fraction)) (i32.const 19)))))

        ;; The exponent, of up to three digits.
        (if (i32.eq (i32.or (local.get $byte) (i32.const 0x20)) (i32.const 0x35)) ;; e or E
          (then
            (local.set $p (i32.add (local.get $p) (i32.const 1)))
            (local.set $byte (i32.load8_u (local.get $p)))
            (local.set $sign (i32.eq (local.get $byte) (i32.const 0x2d)))
            (local.set $p (i32.add (local.get $p)
              (i32.or (local.get $sign) (i32.eq (local.get $byte) (i32.const 0x2b)))))
            (local.set $fraction (local.get $p))
            (local.set $power (i32.const 0))
            (loop $digit
              (local.set $byte (i32.sub (i32.load8_u (local.get $p)) (i32.const 0x30)))
              (if (i32.le_u (local.get $byte) (i32.const 9))
                (then
                  (local.set $power
                    (i32.add (i32.mul (local.get $power) (i32.const 10)) (local.get $byte)))
                  (local.set $p (i32.add (local.get $p) (i32.const 1)))
                  (br $digit))))
            (br_if $stop
              (i32.gt_u
                (i32.sub (i32.sub (local.get $p) (local.get $fraction)) (i32.const 1))
                (i32.const 2)))
            (local.set $exponent (i32.add (local.get $exponent)
              (select
                (i32.sub (i32.const 0) (local.get $power))
                (local.get $power)
                (local.get $sign))))))

        ;; A comma or the closing bracket follows.
        (local.set $byte (i32.load8_u (local.get $p)))
        (if (i32.le_u (local.get $byte) (i32.const 0x20))
          (then
            (local.set $p (call $skip_space (local.get $p)))
            (local.set $byte (i32.load8_u (local.get $p)))))
        (br_if $stop (i32.and
          (i32.ne (local.get $byte) (i32.const 0x2c))
          (i32.ne (local.get $byte) (i32.const 0x5d))))

        (if (i64.eqz (local.get $m))
          (then (local.set $float (f32.const 0)))
          (else
            (local.set $double (f64.convert_i64_u (local.get $m)))
            (br_if $stop
              (i32.gt_u (i32.add (local.get $exponent) (i32.const 63)) (i32.const 126)))
            (if (i32.lt_s (local.get $exponent) (i32.const 0))
              (then (local.set $double (f64.div (local.get $double)
                (f64.load (i32.mul (local.get $exponent) (i32.const -8))))))
              (else (local.set $double (f64.mul (local.get $double)
                (f64.load (i32.mul (local.get $exponent) (i32.const 8)))))))
            (local.set $bits (i64.reinterpret_f64 (local.get $double)))
            ;; From 2^-126, the smallest normal float32, up to 2^128.
            (br_if $stop (i64.gt_u
              (i64.sub (i64.shr_u (local.get $bits) (i64.const 52)) (i64.const 897))
              (i64.const 253)))
            ;; The 29 bits that a float32 lacks, from 8 below 0. In the middle they are 2^28.
            (local.set $power (i32.and
              (i32.add (i32.wrap_i64 (local.get $bits)) (i32.const 8))
              (i32.const 0x1fffffff)))
            (br_if $stop (i32.le_u
              (i32.sub (local.get $power) (i32.const 0x10000000))
              (i32.const 16)))
            (local.set $other (i32.or (local.get $other)
              (i32.gt_u (local.get $power) (i32.const 16))))
            (local.set $float (f32.demote_f64 (local.get $double)))))
        (f32.store (local.get $to)
          (select (f32.neg (local.get $float)) (local.get $float) (local.get $minus)))
        (local.set $to (i32.add (local.get $to) (i32.const 4)))
        (local.set $at (i32.add (local.get $p) (i32.const 1)))
        (br_if $number (i32.eq (local.get $byte) (i32.const 0x2c)))))
    (i32.store (i32.const 512) (local.get $to))
    (i32.store (i32.const 516) (local.get $other))
    (local.get $at))

  ;; The offset after JSON whitespace.
  (func $skip_space (param $p i32) (result i32)
    (local $byte i32)
    (loop $space
      (local.set $byte (i32.load8_u (local.get $p)))
      (if (i32.or
            (i32.or
              (i32.eq (local.get $byte) (i32.const 0x20))
              (i32.eq (local.get $byte) (i32.const 0x0a)))
            (i32.or
              (i32.eq (local.get $byte) (i32.const 0x0d))
              (i32.eq (local.get $byte) (i32.const 0x09))))
        (then
          (local.set $p (i32.add (local.get $p) (i32.const 1)))
          (br $space))))
    (local.get $p)))

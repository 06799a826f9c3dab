;; SIMD validation and base64 decoding of float32 vectors. Compiled into numbers.wasm by test/laws/numbers.test.ts, which
;; also checks that the two files agree; with `UPDATE_GOLDENS=1` it writes numbers.wasm again.
(module
  (memory (export "memory") 1)

  ;; Validates the float32 numbers from $from up to $end; the distance is a multiple of 32 bytes.
  ;; Returns 1 if all are finite and at least one is not zero, 0 if all are zero, -1 if one is not finite.
  (func (export "classify") (param $from i32) (param $end i32) (result i32)
    (local $largest v128) (local $any v128) (local $one v128) (local $other v128)
    (block $done
      (loop $next
        (br_if $done (i32.ge_u (local.get $from) (local.get $end)))
        ;; Without the sign bit, float32 numbers are in the same order as the integers with the same bits.
        (local.set $one (v128.and (v128.load (local.get $from))
          (v128.const i32x4 0x7fffffff 0x7fffffff 0x7fffffff 0x7fffffff)))
        (local.set $other (v128.and (v128.load offset=16 (local.get $from))
          (v128.const i32x4 0x7fffffff 0x7fffffff 0x7fffffff 0x7fffffff)))
        (local.set $any (v128.or (local.get $any) (v128.or (local.get $one) (local.get $other))))
        (local.set $largest
          (i32x4.max_s (local.get $largest) (i32x4.max_s (local.get $one) (local.get $other))))
        (local.set $from (i32.add (local.get $from) (i32.const 32)))
        (br $next)))
    ;; The constant is the largest finite number: above it are infinity and NaN.
    (if (v128.any_true (i32x4.gt_s (local.get $largest)
          (v128.const i32x4 0x7f7fffff 0x7f7fffff 0x7f7fffff 0x7f7fffff)))
      (then (return (i32.const -1))))
    (v128.any_true (local.get $any)))

  ;; Decodes the base64 characters from $from up to $end, a multiple of 64, and writes the bytes to $to, which may be
  ;; equal to $from. Returns 0 if all characters are in the base64 alphabet. The algorithm is from Muła and Lemire,
  ;; "Faster Base64 Encoding and Decoding Using AVX2 Instructions", 2018; 16 characters become 12 bytes. All constants
  ;; are in locals and the loop is unrolled four times by hand: the compiler neither hoists constants nor unrolls, and
  ;; without both the code takes twice as long. No lookup has an index above 15, so relaxed_swizzle gives the same
  ;; result on every processor.
  (func (export "decodeBase64") (param $from i32) (param $end i32) (param $to i32) (result i32)
    (local $invalid v128) (local $characters v128) (local $high v128)
    (local $nibble v128) (local $slash v128) (local $byLow v128) (local $byHigh v128) (local $distance v128)
    (local $upper v128) (local $shift v128) (local $order v128)
    (local.set $nibble (v128.const i32x4 0x0f0f0f0f 0x0f0f0f0f 0x0f0f0f0f 0x0f0f0f0f))
    (local.set $slash (v128.const i32x4 0x2f2f2f2f 0x2f2f2f2f 0x2f2f2f2f 0x2f2f2f2f))
    ;; A character is invalid if the table entries of its low and its high nibble have a bit in common.
    (local.set $byLow (v128.const i8x16
      0x15 0x11 0x11 0x11 0x11 0x11 0x11 0x11 0x11 0x11 0x13 0x1a 0x1b 0x1b 0x1b 0x1a))
    (local.set $byHigh (v128.const i8x16
      0x10 0x10 0x01 0x02 0x04 0x08 0x04 0x08 0x10 0x10 0x10 0x10 0x10 0x10 0x10 0x10))
    ;; The offset from a character to its value, by high nibble. The slash has the high nibble of the plus, so it has its own entry.
    (local.set $distance (v128.const i8x16 0 16 19 4 -65 -65 -71 -71 0 0 0 0 0 0 0 0))
    ;; Four 6-bit values become one 24-bit value: first two pairs of 12 bits, then both together.
    (local.set $upper (v128.const i32x4 0x0fc00fc0 0x0fc00fc0 0x0fc00fc0 0x0fc00fc0))
    (local.set $shift (v128.const i16x8 4096 1 4096 1 4096 1 4096 1))
    ;; The last four bytes are overwritten by the next 12 bytes.
    (local.set $order (v128.const i8x16 2 1 0 6 5 4 10 9 8 14 13 12 15 15 15 15))
    (block $done
      (loop $next
        (br_if $done (i32.ge_u (local.get $from) (local.get $end)))
        (local.set $characters (v128.load offset=0 (local.get $from)))
        (local.set $high (v128.and (i16x8.shr_u (local.get $characters) (i32.const 4)) (local.get $nibble)))
        (local.set $invalid (v128.or (local.get $invalid) (v128.and
          (i8x16.relaxed_swizzle (local.get $byLow) (v128.and (local.get $characters) (local.get $nibble)))
          (i8x16.relaxed_swizzle (local.get $byHigh) (local.get $high)))))
        (local.set $characters (i8x16.add (local.get $characters) (i8x16.relaxed_swizzle (local.get $distance)
          (i8x16.add (local.get $high) (i8x16.eq (local.get $characters) (local.get $slash))))))
        (v128.store offset=0 (local.get $to) (i8x16.relaxed_swizzle
          (i32x4.dot_i16x8_s
            (v128.or
              (v128.and (i16x8.shl (local.get $characters) (i32.const 6)) (local.get $upper))
              (i16x8.shr_u (local.get $characters) (i32.const 8)))
            (local.get $shift))
          (local.get $order)))
        (local.set $characters (v128.load offset=16 (local.get $from)))
        (local.set $high (v128.and (i16x8.shr_u (local.get $characters) (i32.const 4)) (local.get $nibble)))
        (local.set $invalid (v128.or (local.get $invalid) (v128.and
          (i8x16.relaxed_swizzle (local.get $byLow) (v128.and (local.get $characters) (local.get $nibble)))
          (i8x16.relaxed_swizzle (local.get $byHigh) (local.get $high)))))
        (local.set $characters (i8x16.add (local.get $characters) (i8x16.relaxed_swizzle (local.get $distance)
          (i8x16.add (local.get $high) (i8x16.eq (local.get $characters) (local.get $slash))))))
        (v128.store offset=12 (local.get $to) (i8x16.relaxed_swizzle
          (i32x4.dot_i16x8_s
            (v128.or
              (v128.and (i16x8.shl (local.get $characters) (i32.const 6)) (local.get $upper))
              (i16x8.shr_u (local.get $characters) (i32.const 8)))
            (local.get $shift))
          (local.get $order)))
        (local.set $characters (v128.load offset=32 (local.get $from)))
        (local.set $high (v128.and (i16x8.shr_u (local.get $characters) (i32.const 4)) (local.get $nibble)))
        (local.set $invalid (v128.or (local.get $invalid) (v128.and
          (i8x16.relaxed_swizzle (local.get $byLow) (v128.and (local.get $characters) (local.get $nibble)))
          (i8x16.relaxed_swizzle (local.get $byHigh) (local.get $high)))))
        (local.set $characters (i8x16.add (local.get $characters) (i8x16.relaxed_swizzle (local.get $distance)
          (i8x16.add (local.get $high) (i8x16.eq (local.get $characters) (local.get $slash))))))
        (v128.store offset=24 (local.get $to) (i8x16.relaxed_swizzle
          (i32x4.dot_i16x8_s
            (v128.or
              (v128.and (i16x8.shl (local.get $characters) (i32.const 6)) (local.get $upper))
              (i16x8.shr_u (local.get $characters) (i32.const 8)))
            (local.get $shift))
          (local.get $order)))
        (local.set $characters (v128.load offset=48 (local.get $from)))
        (local.set $high (v128.and (i16x8.shr_u (local.get $characters) (i32.const 4)) (local.get $nibble)))
        (local.set $invalid (v128.or (local.get $invalid) (v128.and
          (i8x16.relaxed_swizzle (local.get $byLow) (v128.and (local.get $characters) (local.get $nibble)))
          (i8x16.relaxed_swizzle (local.get $byHigh) (local.get $high)))))
        (local.set $characters (i8x16.add (local.get $characters) (i8x16.relaxed_swizzle (local.get $distance)
          (i8x16.add (local.get $high) (i8x16.eq (local.get $characters) (local.get $slash))))))
        (v128.store offset=36 (local.get $to) (i8x16.relaxed_swizzle
          (i32x4.dot_i16x8_s
            (v128.or
              (v128.and (i16x8.shl (local.get $characters) (i32.const 6)) (local.get $upper))
              (i16x8.shr_u (local.get $characters) (i32.const 8)))
            (local.get $shift))
          (local.get $order)))
        (local.set $from (i32.add (local.get $from) (i32.const 64)))
        (local.set $to (i32.add (local.get $to) (i32.const 48)))
        (br $next)))
    (v128.any_true (local.get $invalid)))

  ;; Validates base64 of float32 numbers without decoding it: the characters from $from up to $end, a multiple of 64.
  ;; Returns 1 if all numbers are finite and at least one is not zero, 0 if all are zero, -1 if a character is not in the
  ;; base64 alphabet, and 2 if a number is so large that it must be decoded to know whether it is finite. 16 characters
  ;; are three numbers; their exponents begin in the fifth, the tenth and the fifteenth character.
  (func (export "classifyBase64") (param $from i32) (param $end i32) (result i32)
    (local $invalid v128) (local $characters v128) (local $high v128)
    (local $nibble v128) (local $slash v128) (local $byLow v128) (local $byHigh v128) (local $distance v128)
    (local $any v128) (local $largest v128) (local $unsigned v128) (local $exponents v128)
    (local.set $nibble (v128.const i32x4 0x0f0f0f0f 0x0f0f0f0f 0x0f0f0f0f 0x0f0f0f0f))
    (local.set $slash (v128.const i32x4 0x2f2f2f2f 0x2f2f2f2f 0x2f2f2f2f 0x2f2f2f2f))
    ;; A character is invalid if the table entries of its low and its high nibble have a bit in common.
    (local.set $byLow (v128.const i8x16
      0x15 0x11 0x11 0x11 0x11 0x11 0x11 0x11 0x11 0x11 0x13 0x1a 0x1b 0x1b 0x1b 0x1a))
    (local.set $byHigh (v128.const i8x16
      0x10 0x10 0x01 0x02 0x04 0x08 0x04 0x08 0x10 0x10 0x10 0x10 0x10 0x10 0x10 0x10))
    ;; The offset from a character to its value, by high nibble. The slash has the high nibble of the plus, so it has its own entry.
    (local.set $distance (v128.const i8x16 0 16 19 4 -65 -65 -71 -71 0 0 0 0 0 0 0 0))
    ;; All bits except the sign bits of the numbers.
    (local.set $unsigned (v128.const i8x16 63 63 63 63 31 63 63 63 63 55 63 63 63 63 61 63))
    ;; The upper bits of the exponents: seven, three and seven. Only if all of them are set can a number be infinity or NaN.
    (local.set $exponents (v128.const i16x8 0 0 0x301f 0 0x0700 0 0 0x3f01))
    (block $done
      (loop $next
        (br_if $done (i32.ge_u (local.get $from) (local.get $end)))
        (local.set $characters (v128.load offset=0 (local.get $from)))
        (local.set $high (v128.and (i16x8.shr_u (local.get $characters) (i32.const 4)) (local.get $nibble)))
        (local.set $invalid (v128.or (local.get $invalid) (v128.and
          (i8x16.relaxed_swizzle (local.get $byLow) (v128.and (local.get $characters) (local.get $nibble)))
          (i8x16.relaxed_swizzle (local.get $byHigh) (local.get $high)))))
        (local.set $characters (i8x16.add (local.get $characters) (i8x16.relaxed_swizzle (local.get $distance)
          (i8x16.add (local.get $high) (i8x16.eq (local.get $characters) (local.get $slash))))))
        (local.set $any (v128.or (local.get $any) (v128.and (local.get $characters) (local.get $unsigned))))
        (local.set $largest
          (i16x8.max_u (local.get $largest) (v128.and (local.get $characters) (local.get $exponents))))
        (local.set $characters (v128.load offset=16 (local.get $from)))
        (local.set $high (v128.and (i16x8.shr_u (local.get $characters) (i32.const 4)) (local.get $nibble)))
        (local.set $invalid (v128.or (local.get $invalid) (v128.and
          (i8x16.relaxed_swizzle (local.get $byLow) (v128.and (local.get $characters) (local.get $nibble)))
          (i8x16.relaxed_swizzle (local.get $byHigh) (local.get $high)))))
        (local.set $characters (i8x16.add (local.get $characters) (i8x16.relaxed_swizzle (local.get $distance)
          (i8x16.add (local.get $high) (i8x16.eq (local.get $characters) (local.get $slash))))))
        (local.set $any (v128.or (local.get $any) (v128.and (local.get $characters) (local.get $unsigned))))
        (local.set $largest
          (i16x8.max_u (local.get $largest) (v128.and (local.get $characters) (local.get $exponents))))
        (local.set $characters (v128.load offset=32 (local.get $from)))
        (local.set $high (v128.and (i16x8.shr_u (local.get $characters) (i32.const 4)) (local.get $nibble)))
        (local.set $invalid (v128.or (local.get $invalid) (v128.and
          (i8x16.relaxed_swizzle (local.get $byLow) (v128.and (local.get $characters) (local.get $nibble)))
          (i8x16.relaxed_swizzle (local.get $byHigh) (local.get $high)))))
        (local.set $characters (i8x16.add (local.get $characters) (i8x16.relaxed_swizzle (local.get $distance)
          (i8x16.add (local.get $high) (i8x16.eq (local.get $characters) (local.get $slash))))))
        (local.set $any (v128.or (local.get $any) (v128.and (local.get $characters) (local.get $unsigned))))
        (local.set $largest
          (i16x8.max_u (local.get $largest) (v128.and (local.get $characters) (local.get $exponents))))
        (local.set $characters (v128.load offset=48 (local.get $from)))
        (local.set $high (v128.and (i16x8.shr_u (local.get $characters) (i32.const 4)) (local.get $nibble)))
        (local.set $invalid (v128.or (local.get $invalid) (v128.and
          (i8x16.relaxed_swizzle (local.get $byLow) (v128.and (local.get $characters) (local.get $nibble)))
          (i8x16.relaxed_swizzle (local.get $byHigh) (local.get $high)))))
        (local.set $characters (i8x16.add (local.get $characters) (i8x16.relaxed_swizzle (local.get $distance)
          (i8x16.add (local.get $high) (i8x16.eq (local.get $characters) (local.get $slash))))))
        (local.set $any (v128.or (local.get $any) (v128.and (local.get $characters) (local.get $unsigned))))
        (local.set $largest
          (i16x8.max_u (local.get $largest) (v128.and (local.get $characters) (local.get $exponents))))
        (local.set $from (i32.add (local.get $from) (i32.const 64)))
        (br $next)))
    (if (v128.any_true (local.get $invalid)) (then (return (i32.const -1))))
    ;; A maximum equal to the mask means that all exponent bits of some number are set: no value is larger than the mask.
    (if (v128.any_true (i16x8.eq (local.get $largest) (v128.const i16x8 1 1 0x301f 1 0x0700 1 1 0x3f01)))
      (then (return (i32.const 2))))
    (v128.any_true (local.get $any))))

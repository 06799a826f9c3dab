;; Numbers of vectors, many in one step. Compiled into numbers.wasm, which a test holds to this text:
;; `UPDATE_GOLDENS=1 bun test test/laws/numbers.test.ts` writes it anew.
(module
  (memory (export "memory") 1)

  ;; Whether float32 numbers can be believed: those from $from up to $end, which is a whole number of 32 bytes away.
  ;; 1 where all are finite and one of them is not zero, 0 where all are zero, -1 where one is not finite.
  (func (export "look") (param $from i32) (param $end i32) (result i32)
    (local $largest v128) (local $any v128) (local $one v128) (local $other v128)
    (block $done
      (loop $next
        (br_if $done (i32.ge_u (local.get $from) (local.get $end)))
        ;; Without their signs, numbers are in the same order as the integers with the same bits.
        (local.set $one (v128.and (v128.load (local.get $from))
          (v128.const i32x4 0x7fffffff 0x7fffffff 0x7fffffff 0x7fffffff)))
        (local.set $other (v128.and (v128.load offset=16 (local.get $from))
          (v128.const i32x4 0x7fffffff 0x7fffffff 0x7fffffff 0x7fffffff)))
        (local.set $any (v128.or (local.get $any) (v128.or (local.get $one) (local.get $other))))
        (local.set $largest
          (i32x4.max_s (local.get $largest) (i32x4.max_s (local.get $one) (local.get $other))))
        (local.set $from (i32.add (local.get $from) (i32.const 32)))
        (br $next)))
    ;; The largest finite number; above it are the infinities and what is no number.
    (if (v128.any_true (i32x4.gt_s (local.get $largest)
          (v128.const i32x4 0x7f7fffff 0x7f7fffff 0x7f7fffff 0x7f7fffff)))
      (then (return (i32.const -1))))
    (v128.any_true (local.get $any)))

  ;; Base64 into bytes: the signs from $from up to $end, which is a whole number of 64 away, to $to. The two may be the same
  ;; place. 0 where all are of the alphabet. After Muła and Lemire, Faster Base64 Encoding and Decoding Using AVX2
  ;; Instructions, 2018; sixteen signs become twelve bytes. All constants lie in locals, and the four rounds are written
  ;; out: the compiler neither hoists the one nor inlines the other, and it takes twice as long then. A table is never
  ;; asked for more than its sixteen places, so the relaxed way to do it gives the same on every processor.
  (func (export "decode") (param $from i32) (param $end i32) (param $to i32) (result i32)
    (local $strange v128) (local $signs v128) (local $high v128)
    (local $nibble v128) (local $slash v128) (local $byLow v128) (local $byHigh v128) (local $distance v128)
    (local $upper v128) (local $shift v128) (local $order v128)
    (local.set $nibble (v128.const i32x4 0x0f0f0f0f 0x0f0f0f0f 0x0f0f0f0f 0x0f0f0f0f))
    (local.set $slash (v128.const i32x4 0x2f2f2f2f 0x2f2f2f2f 0x2f2f2f2f 0x2f2f2f2f))
    ;; A sign is strange where its two halves have a bit in common here.
    (local.set $byLow (v128.const i8x16
      0x15 0x11 0x11 0x11 0x11 0x11 0x11 0x11 0x11 0x11 0x13 0x1a 0x1b 0x1b 0x1b 0x1a))
    (local.set $byHigh (v128.const i8x16
      0x10 0x10 0x01 0x02 0x04 0x08 0x04 0x08 0x10 0x10 0x10 0x10 0x10 0x10 0x10 0x10))
    ;; From a sign to its value, by its upper half; the slash, whose upper half is that of the plus, has its own.
    (local.set $distance (v128.const i8x16 0 16 19 4 -65 -65 -71 -71 0 0 0 0 0 0 0 0))
    ;; Four values of six bits become one of twenty-four: first two and two, then both.
    (local.set $upper (v128.const i32x4 0x0fc00fc0 0x0fc00fc0 0x0fc00fc0 0x0fc00fc0))
    (local.set $shift (v128.const i16x8 4096 1 4096 1 4096 1 4096 1))
    ;; The last four are overwritten by the next.
    (local.set $order (v128.const i8x16 2 1 0 6 5 4 10 9 8 14 13 12 15 15 15 15))
    (block $done
      (loop $next
        (br_if $done (i32.ge_u (local.get $from) (local.get $end)))
        (local.set $signs (v128.load offset=0 (local.get $from)))
        (local.set $high (v128.and (i16x8.shr_u (local.get $signs) (i32.const 4)) (local.get $nibble)))
        (local.set $strange (v128.or (local.get $strange) (v128.and
          (i8x16.relaxed_swizzle (local.get $byLow) (v128.and (local.get $signs) (local.get $nibble)))
          (i8x16.relaxed_swizzle (local.get $byHigh) (local.get $high)))))
        (local.set $signs (i8x16.add (local.get $signs) (i8x16.relaxed_swizzle (local.get $distance)
          (i8x16.add (local.get $high) (i8x16.eq (local.get $signs) (local.get $slash))))))
        (v128.store offset=0 (local.get $to) (i8x16.relaxed_swizzle
          (i32x4.dot_i16x8_s
            (v128.or
              (v128.and (i16x8.shl (local.get $signs) (i32.const 6)) (local.get $upper))
              (i16x8.shr_u (local.get $signs) (i32.const 8)))
            (local.get $shift))
          (local.get $order)))
        (local.set $signs (v128.load offset=16 (local.get $from)))
        (local.set $high (v128.and (i16x8.shr_u (local.get $signs) (i32.const 4)) (local.get $nibble)))
        (local.set $strange (v128.or (local.get $strange) (v128.and
          (i8x16.relaxed_swizzle (local.get $byLow) (v128.and (local.get $signs) (local.get $nibble)))
          (i8x16.relaxed_swizzle (local.get $byHigh) (local.get $high)))))
        (local.set $signs (i8x16.add (local.get $signs) (i8x16.relaxed_swizzle (local.get $distance)
          (i8x16.add (local.get $high) (i8x16.eq (local.get $signs) (local.get $slash))))))
        (v128.store offset=12 (local.get $to) (i8x16.relaxed_swizzle
          (i32x4.dot_i16x8_s
            (v128.or
              (v128.and (i16x8.shl (local.get $signs) (i32.const 6)) (local.get $upper))
              (i16x8.shr_u (local.get $signs) (i32.const 8)))
            (local.get $shift))
          (local.get $order)))
        (local.set $signs (v128.load offset=32 (local.get $from)))
        (local.set $high (v128.and (i16x8.shr_u (local.get $signs) (i32.const 4)) (local.get $nibble)))
        (local.set $strange (v128.or (local.get $strange) (v128.and
          (i8x16.relaxed_swizzle (local.get $byLow) (v128.and (local.get $signs) (local.get $nibble)))
          (i8x16.relaxed_swizzle (local.get $byHigh) (local.get $high)))))
        (local.set $signs (i8x16.add (local.get $signs) (i8x16.relaxed_swizzle (local.get $distance)
          (i8x16.add (local.get $high) (i8x16.eq (local.get $signs) (local.get $slash))))))
        (v128.store offset=24 (local.get $to) (i8x16.relaxed_swizzle
          (i32x4.dot_i16x8_s
            (v128.or
              (v128.and (i16x8.shl (local.get $signs) (i32.const 6)) (local.get $upper))
              (i16x8.shr_u (local.get $signs) (i32.const 8)))
            (local.get $shift))
          (local.get $order)))
        (local.set $signs (v128.load offset=48 (local.get $from)))
        (local.set $high (v128.and (i16x8.shr_u (local.get $signs) (i32.const 4)) (local.get $nibble)))
        (local.set $strange (v128.or (local.get $strange) (v128.and
          (i8x16.relaxed_swizzle (local.get $byLow) (v128.and (local.get $signs) (local.get $nibble)))
          (i8x16.relaxed_swizzle (local.get $byHigh) (local.get $high)))))
        (local.set $signs (i8x16.add (local.get $signs) (i8x16.relaxed_swizzle (local.get $distance)
          (i8x16.add (local.get $high) (i8x16.eq (local.get $signs) (local.get $slash))))))
        (v128.store offset=36 (local.get $to) (i8x16.relaxed_swizzle
          (i32x4.dot_i16x8_s
            (v128.or
              (v128.and (i16x8.shl (local.get $signs) (i32.const 6)) (local.get $upper))
              (i16x8.shr_u (local.get $signs) (i32.const 8)))
            (local.get $shift))
          (local.get $order)))
        (local.set $from (i32.add (local.get $from) (i32.const 64)))
        (local.set $to (i32.add (local.get $to) (i32.const 48)))
        (br $next)))
    (v128.any_true (local.get $strange)))

  ;; Both at once, without decoding: whether the signs from $from up to $end, which is a whole number of 64 away, are base64
  ;; of numbers that can be believed. 1 and 0 as above, -1 where a sign is not of the alphabet, and 2 where one of the
  ;; numbers is so large that it has to be looked at. Sixteen signs are three numbers; of each, the exponent begins in the
  ;; fifth, the tenth and the fifteenth sign.
  (func (export "check") (param $from i32) (param $end i32) (result i32)
    (local $strange v128) (local $signs v128) (local $high v128)
    (local $nibble v128) (local $slash v128) (local $byLow v128) (local $byHigh v128) (local $distance v128)
    (local $any v128) (local $largest v128) (local $unsigned v128) (local $exponents v128)
    (local.set $nibble (v128.const i32x4 0x0f0f0f0f 0x0f0f0f0f 0x0f0f0f0f 0x0f0f0f0f))
    (local.set $slash (v128.const i32x4 0x2f2f2f2f 0x2f2f2f2f 0x2f2f2f2f 0x2f2f2f2f))
    ;; A sign is strange where its two halves have a bit in common here.
    (local.set $byLow (v128.const i8x16
      0x15 0x11 0x11 0x11 0x11 0x11 0x11 0x11 0x11 0x11 0x13 0x1a 0x1b 0x1b 0x1b 0x1a))
    (local.set $byHigh (v128.const i8x16
      0x10 0x10 0x01 0x02 0x04 0x08 0x04 0x08 0x10 0x10 0x10 0x10 0x10 0x10 0x10 0x10))
    ;; From a sign to its value, by its upper half; the slash, whose upper half is that of the plus, has its own.
    (local.set $distance (v128.const i8x16 0 16 19 4 -65 -65 -71 -71 0 0 0 0 0 0 0 0))
    ;; All bits but those that say whether a number is negative.
    (local.set $unsigned (v128.const i8x16 63 63 63 63 31 63 63 63 63 55 63 63 63 63 61 63))
    ;; The upper bits of the exponents: seven, three and seven. Only where all are set can a number be none.
    (local.set $exponents (v128.const i16x8 0 0 0x301f 0 0x0700 0 0 0x3f01))
    (block $done
      (loop $next
        (br_if $done (i32.ge_u (local.get $from) (local.get $end)))
        (local.set $signs (v128.load offset=0 (local.get $from)))
        (local.set $high (v128.and (i16x8.shr_u (local.get $signs) (i32.const 4)) (local.get $nibble)))
        (local.set $strange (v128.or (local.get $strange) (v128.and
          (i8x16.relaxed_swizzle (local.get $byLow) (v128.and (local.get $signs) (local.get $nibble)))
          (i8x16.relaxed_swizzle (local.get $byHigh) (local.get $high)))))
        (local.set $signs (i8x16.add (local.get $signs) (i8x16.relaxed_swizzle (local.get $distance)
          (i8x16.add (local.get $high) (i8x16.eq (local.get $signs) (local.get $slash))))))
        (local.set $any (v128.or (local.get $any) (v128.and (local.get $signs) (local.get $unsigned))))
        (local.set $largest
          (i16x8.max_u (local.get $largest) (v128.and (local.get $signs) (local.get $exponents))))
        (local.set $signs (v128.load offset=16 (local.get $from)))
        (local.set $high (v128.and (i16x8.shr_u (local.get $signs) (i32.const 4)) (local.get $nibble)))
        (local.set $strange (v128.or (local.get $strange) (v128.and
          (i8x16.relaxed_swizzle (local.get $byLow) (v128.and (local.get $signs) (local.get $nibble)))
          (i8x16.relaxed_swizzle (local.get $byHigh) (local.get $high)))))
        (local.set $signs (i8x16.add (local.get $signs) (i8x16.relaxed_swizzle (local.get $distance)
          (i8x16.add (local.get $high) (i8x16.eq (local.get $signs) (local.get $slash))))))
        (local.set $any (v128.or (local.get $any) (v128.and (local.get $signs) (local.get $unsigned))))
        (local.set $largest
          (i16x8.max_u (local.get $largest) (v128.and (local.get $signs) (local.get $exponents))))
        (local.set $signs (v128.load offset=32 (local.get $from)))
        (local.set $high (v128.and (i16x8.shr_u (local.get $signs) (i32.const 4)) (local.get $nibble)))
        (local.set $strange (v128.or (local.get $strange) (v128.and
          (i8x16.relaxed_swizzle (local.get $byLow) (v128.and (local.get $signs) (local.get $nibble)))
          (i8x16.relaxed_swizzle (local.get $byHigh) (local.get $high)))))
        (local.set $signs (i8x16.add (local.get $signs) (i8x16.relaxed_swizzle (local.get $distance)
          (i8x16.add (local.get $high) (i8x16.eq (local.get $signs) (local.get $slash))))))
        (local.set $any (v128.or (local.get $any) (v128.and (local.get $signs) (local.get $unsigned))))
        (local.set $largest
          (i16x8.max_u (local.get $largest) (v128.and (local.get $signs) (local.get $exponents))))
        (local.set $signs (v128.load offset=48 (local.get $from)))
        (local.set $high (v128.and (i16x8.shr_u (local.get $signs) (i32.const 4)) (local.get $nibble)))
        (local.set $strange (v128.or (local.get $strange) (v128.and
          (i8x16.relaxed_swizzle (local.get $byLow) (v128.and (local.get $signs) (local.get $nibble)))
          (i8x16.relaxed_swizzle (local.get $byHigh) (local.get $high)))))
        (local.set $signs (i8x16.add (local.get $signs) (i8x16.relaxed_swizzle (local.get $distance)
          (i8x16.add (local.get $high) (i8x16.eq (local.get $signs) (local.get $slash))))))
        (local.set $any (v128.or (local.get $any) (v128.and (local.get $signs) (local.get $unsigned))))
        (local.set $largest
          (i16x8.max_u (local.get $largest) (v128.and (local.get $signs) (local.get $exponents))))
        (local.set $from (i32.add (local.get $from) (i32.const 64)))
        (br $next)))
    (if (v128.any_true (local.get $strange)) (then (return (i32.const -1))))
    ;; Nothing is larger than all of these bits.
    (if (v128.any_true (i16x8.eq (local.get $largest) (v128.const i16x8 1 1 0x301f 1 0x0700 1 1 0x3f01)))
      (then (return (i32.const 2))))
    (v128.any_true (local.get $any))))

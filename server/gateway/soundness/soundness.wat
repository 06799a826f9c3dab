;; Whether float32 numbers can be believed, sixteen bytes at a time. Compiled into soundness.wasm, which a test holds to
;; this text: `UPDATE_GOLDENS=1 bun test test/laws/soundness.test.ts` writes it anew.
(module
  (memory (export "memory") 1)

  ;; The numbers from $from up to $end, which is a whole number of 32 bytes away: 1 where all are finite and one of them
  ;; is not zero, 0 where all are zero, -1 where one is not finite.
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
    (v128.any_true (local.get $any))))

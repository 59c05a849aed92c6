;; scrypt's ROMix (RFC 7914) for r = 1: what makes the work of raised levels need memory. Built by build_scrypt.mjs.
;; Memory: the block of 128 bytes at 0, the table of n blocks from 128 on. The words of each half stand in the order in
;; which Salsa20's columns are four vectors (word i is word 5 * i % 16 of the block); the caller puts them there.
(module
  (memory (export "memory") 5)

  ;; Salsa20/8 of the 64 bytes at $to combined with those at $from, written to $to.
  (func $salsa (param $to i32) (param $from i32)
    (local $i i32) (local $t v128)
    (local $a v128) (local $b v128) (local $c v128) (local $d v128)
    (local $a0 v128) (local $b0 v128) (local $c0 v128) (local $d0 v128)
    (local.set $a (local.tee $a0 (v128.xor (v128.load (local.get $to)) (v128.load (local.get $from)))))
    (local.set $b (local.tee $b0 (v128.xor (v128.load offset=16 (local.get $to)) (v128.load offset=16 (local.get $from)))))
    (local.set $c (local.tee $c0 (v128.xor (v128.load offset=32 (local.get $to)) (v128.load offset=32 (local.get $from)))))
    (local.set $d (local.tee $d0 (v128.xor (v128.load offset=48 (local.get $to)) (v128.load offset=48 (local.get $from)))))
    (local.set $i (i32.const 4))
    (loop $double
      ;; Columns.
      (local.set $t (i32x4.add (local.get $a) (local.get $d)))
      (local.set $b (v128.xor (v128.xor (local.get $b) (i32x4.shl (local.get $t) (i32.const 7)))
        (i32x4.shr_u (local.get $t) (i32.const 25))))
      (local.set $t (i32x4.add (local.get $b) (local.get $a)))
      (local.set $c (v128.xor (v128.xor (local.get $c) (i32x4.shl (local.get $t) (i32.const 9)))
        (i32x4.shr_u (local.get $t) (i32.const 23))))
      (local.set $t (i32x4.add (local.get $c) (local.get $b)))
      (local.set $d (v128.xor (v128.xor (local.get $d) (i32x4.shl (local.get $t) (i32.const 13)))
        (i32x4.shr_u (local.get $t) (i32.const 19))))
      (local.set $t (i32x4.add (local.get $d) (local.get $c)))
      (local.set $a (v128.xor (v128.xor (local.get $a) (i32x4.shl (local.get $t) (i32.const 18)))
        (i32x4.shr_u (local.get $t) (i32.const 14))))
      (local.set $b (i8x16.shuffle 12 13 14 15 0 1 2 3 4 5 6 7 8 9 10 11 (local.get $b) (local.get $b)))
      (local.set $c (i8x16.shuffle 8 9 10 11 12 13 14 15 0 1 2 3 4 5 6 7 (local.get $c) (local.get $c)))
      (local.set $d (i8x16.shuffle 4 5 6 7 8 9 10 11 12 13 14 15 0 1 2 3 (local.get $d) (local.get $d)))
      ;; Rows.
      (local.set $t (i32x4.add (local.get $a) (local.get $b)))
      (local.set $d (v128.xor (v128.xor (local.get $d) (i32x4.shl (local.get $t) (i32.const 7)))
        (i32x4.shr_u (local.get $t) (i32.const 25))))
      (local.set $t (i32x4.add (local.get $d) (local.get $a)))
      (local.set $c (v128.xor (v128.xor (local.get $c) (i32x4.shl (local.get $t) (i32.const 9)))
        (i32x4.shr_u (local.get $t) (i32.const 23))))
      (local.set $t (i32x4.add (local.get $c) (local.get $d)))
      (local.set $b (v128.xor (v128.xor (local.get $b) (i32x4.shl (local.get $t) (i32.const 13)))
        (i32x4.shr_u (local.get $t) (i32.const 19))))
      (local.set $t (i32x4.add (local.get $b) (local.get $c)))
      (local.set $a (v128.xor (v128.xor (local.get $a) (i32x4.shl (local.get $t) (i32.const 18)))
        (i32x4.shr_u (local.get $t) (i32.const 14))))
      (local.set $b (i8x16.shuffle 4 5 6 7 8 9 10 11 12 13 14 15 0 1 2 3 (local.get $b) (local.get $b)))
      (local.set $c (i8x16.shuffle 8 9 10 11 12 13 14 15 0 1 2 3 4 5 6 7 (local.get $c) (local.get $c)))
      (local.set $d (i8x16.shuffle 12 13 14 15 0 1 2 3 4 5 6 7 8 9 10 11 (local.get $d) (local.get $d)))
      (br_if $double (local.tee $i (i32.sub (local.get $i) (i32.const 1)))))
    (v128.store (local.get $to) (i32x4.add (local.get $a0) (local.get $a)))
    (v128.store offset=16 (local.get $to) (i32x4.add (local.get $b0) (local.get $b)))
    (v128.store offset=32 (local.get $to) (i32x4.add (local.get $c0) (local.get $c)))
    (v128.store offset=48 (local.get $to) (i32x4.add (local.get $d0) (local.get $d))))

  ;; BlockMix: each half is combined with the other and mixed.
  (func $mix_block
    (call $salsa (i32.const 0) (i32.const 64))
    (call $salsa (i32.const 64) (i32.const 0)))

  (func (export "mix") (param $n i32)
    (local $at i32) (local $end i32) (local $i i32)
    (local.set $end (i32.add (i32.const 128) (i32.shl (local.get $n) (i32.const 7))))
    (local.set $at (i32.const 128))
    (loop $fill
      (memory.copy (local.get $at) (i32.const 0) (i32.const 128))
      (call $mix_block)
      (br_if $fill (i32.lt_u (local.tee $at (i32.add (local.get $at) (i32.const 128))) (local.get $end))))
    (local.set $i (local.get $n))
    (loop $read
      (local.set $at
        (i32.add (i32.const 128)
          (i32.shl (i32.and (i32.load (i32.const 64)) (i32.sub (local.get $n) (i32.const 1))) (i32.const 7))))
      (call $combine (local.get $at))
      (call $mix_block)
      (br_if $read (local.tee $i (i32.sub (local.get $i) (i32.const 1))))))

  ;; Combine the block with one of the table.
  (func $combine (param $at i32)
    (local $i i32)
    (loop $each
      (v128.store (local.get $i)
        (v128.xor (v128.load (local.get $i)) (v128.load (i32.add (local.get $at) (local.get $i)))))
      (br_if $each (i32.lt_u (local.tee $i (i32.add (local.get $i) (i32.const 16))) (i32.const 128)))))
)

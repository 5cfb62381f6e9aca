; SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
;
; The axioms of bits.h, for bit vectors: each is asked for a counterexample, and
; there must be none, so every answer must be unsat. An integer z of the axioms
; is a signed vector wide enough for its range.
(set-logic QF_BV)
(declare-const s (_ BitVec 32))
(declare-const t (_ BitVec 32))
(declare-const p (_ BitVec 32))
(declare-const q (_ BitVec 32))
(declare-const x (_ BitVec 64))
(declare-const z (_ BitVec 36))
(declare-const y (_ BitVec 68))
(define-fun shl24 ((v (_ BitVec 32))) (_ BitVec 32) (bvshl v #x00000018))
(define-fun top ((v (_ BitVec 32))) (_ BitVec 32) (bvlshr v #x00000018))
(define-fun z32 () (_ BitVec 36) (concat #x0 ((_ extract 31 0) z)))
(define-fun y64 () (_ BitVec 68) (concat #x0 ((_ extract 63 0) y)))

(push 1) ; mask11
(assert (distinct (bvand s #x000007ff) (bvurem s #x00000800)))
(check-sat)
(pop 1)
(push 1) ; mask12
(assert (distinct (bvand s #x00000fff) (bvurem s #x00001000)))
(check-sat)
(pop 1)
(push 1) ; mask16
(assert (distinct (bvand s #x0000ffff) (bvurem s #x00010000)))
(check-sat)
(pop 1)
(push 1) ; mask21
(assert (distinct (bvand s #x001fffff) (bvurem s #x00200000)))
(check-sat)
(pop 1)
(push 1) ; mask31
(assert (distinct (bvand s #x7fffffff) (bvurem s #x80000000)))
(check-sat)
(pop 1)
(push 1) ; high64
(assert (distinct (= (bvand x #xffffffff00000000) #x0000000000000000)
		  (bvult x #x0000000100000000)))
(check-sat)
(pop 1)
(push 1) ; under32
(assert (bvsle #xf00000000 z))
(assert (bvslt z #x000000000))
(assert (distinct z32 (bvadd z #x100000000)))
(check-sat)
(pop 1)
(push 1) ; over32
(assert (bvsle #x100000000 z))
(assert (bvslt z #x200000000))
(assert (distinct z32 (bvsub z #x100000000)))
(check-sat)
(pop 1)
(push 1) ; under64
(assert (bvsle #xf0000000000000000 y))
(assert (bvslt y #x00000000000000000))
(assert (distinct y64 (bvadd y #x10000000000000000)))
(check-sat)
(pop 1)
(push 1) ; top8
(assert (distinct (top s) (bvudiv s #x01000000)))
(check-sat)
(pop 1)
(push 1) ; top32
(assert (distinct (bvlshr x #x0000000000000020)
		  (bvudiv x #x0000000100000000)))
(check-sat)
(pop 1)
(push 1) ; low32
(assert (distinct (concat #x00000000 ((_ extract 31 0) x))
		  (bvurem x #x0000000100000000)))
(check-sat)
(pop 1)
(push 1) ; low64
(assert (bvult y64 #x00000000100000000))
(assert (distinct y64 (concat #x000000000 ((_ extract 31 0) y))))
(check-sat)
(pop 1)
(push 1) ; top16
(assert (distinct (bvlshr s #x00000010) (bvudiv s #x00010000)))
(check-sat)
(pop 1)
(push 1) ; relock
(assert (bvule t #x00000003))
(assert (distinct (bvor (bvand s #x0000ffff) (bvshl t #x00000010))
		  (bvadd (bvurem s #x00010000) (bvmul t #x00010000))))
(check-sat)
(pop 1)
(push 1) ; claim16
(assert (bvult s #x00010000))
(assert (distinct (bvor s #x00010000) (bvadd s #x00010000)))
(check-sat)
(pop 1)
(push 1) ; last32: s and p as e and b, t as n, one bit more for sums
(define-fun wide ((v (_ BitVec 32))) (_ BitVec 33) (concat #b0 v))
(assert (bvult #x00000000 t))
(assert (bvule t p))
(assert (bvule (bvadd (wide (bvsub s p)) (wide p)) #b100000000000000000000000000000000))
(assert (distinct (wide (bvsub s t))
		  (bvsub (bvadd (wide (bvsub s p)) (wide p)) (wide t))))
(check-sat)
(pop 1)
(push 1) ; before32: no wrap, so the difference is that of whole numbers
(assert (bvule p s))
(assert (bvule (bvsub s t) p))
(assert (bvult s t))
(check-sat)
(pop 1)
(push 1) ; joined32: UNIC_TOKEN_SENDER
(define-fun joined () (_ BitVec 64)
  (bvor (bvshl (concat #x00000000 s) #x0000000000000020)
	(concat #x00000000 t)))
(assert (or (distinct (bvudiv joined #x0000000100000000)
		      (concat #x00000000 s))
	    (distinct (bvurem joined #x0000000100000000)
		      (concat #x00000000 t))))
(check-sat)
(pop 1)

; The locks of mr.c. A PD is below 64, so shifting it loses nothing.
(assert (bvult p #x00000040))
(assert (bvult q #x00000040))
(assert (= (top s) (top t)))
(push 1) ; open_lock: of a region with STag t and PD q, tried with s and p
(assert (distinct (= (bvxor s (shl24 p)) (bvxor t (shl24 q)))
		  (and (= s t) (= p q))))
(check-sat)
(pop 1)
(push 1) ; closed_lock: no STag of the index and PD make it
(assert (= (bvxor s (shl24 p)) (shl24 (bvxor (top s) #x00000080))))
(check-sat)
(pop 1)

package perf

import "fmt"

// Derived are the numbers that follow from the counters of an operator by sums. One that
// needs an unknown counter is unknown.
type Derived struct {
	// Compute are the cycles in which VME or MME ran, Union those in which VME, MME or
	// MTE did.
	Compute, Union Count
	// ExposedData are the cycles of Union without maths, ExposedCompute those without
	// moves, and HiddenData the moves beside maths.
	ExposedData, ExposedCompute, HiddenData Count
	// DDRBytes are the bytes of all DMA channels.
	DDRBytes Count
	// Inconsistent says whether units overlap longer than one of them ran, nil for
	// unknown.
	Inconsistent *bool
}

// derive computes what follows from counters. A sum that no int64 holds is an error.
func derive(c *Counters) (d Derived, err error) {
	bytes, ok := total(c.Get(dma0c0Byte), c.Get(dma0c1Byte), c.Get(dma1c0Byte), c.Get(dma1c1Byte))
	if d.DDRBytes = bytes; !ok {
		return Derived{}, fmt.Errorf("the DMA channels have more bytes than an int64 holds")
	}
	v, m, t := c.Get(VME), c.Get(MME), c.Get(MTE)
	vm, tm, vt, a := c.Get(PalVMEMME), c.Get(PalMTEMME), c.Get(PalVMEMTE), c.Get(PalTotal)
	if v.Known && m.Known && vm.Known {
		apart, ok := sum([]int64{v.N, m.N}, []int64{vm.N})
		if !ok {
			return Derived{}, fmt.Errorf("vme_cycle and mme_cycle add up to more than an int64 holds")
		}
		d.Compute = count(max(v.N, m.N, apart))
	}
	if !d.Compute.Known || !t.Known || !tm.Known || !vt.Known || !a.Known {
		return d, nil
	}
	apart, ok := sum([]int64{v.N, m.N, t.N, a.N}, []int64{vm.N, tm.N, vt.N})
	if !ok {
		return Derived{}, fmt.Errorf("the cycles of VME, MME and MTE add up to more than an int64 holds")
	}
	d.Union = count(max(d.Compute.N, t.N, apart))
	d.ExposedData = count(d.Union.N - d.Compute.N)
	d.ExposedCompute = count(d.Union.N - t.N)
	d.HiddenData = count(t.N - d.ExposedData.N)
	inconsistent := vm.N > min(v.N, m.N) || tm.N > min(t.N, m.N) || vt.N > min(v.N, t.N) || a.N > min(vm.N, tm.N, vt.N)
	d.Inconsistent = &inconsistent
	return d, nil
}

// shorter is the shorter of moves and maths, of counters that are known.
func (o *Operator) shorter() int64 { return min(o.Get(MTE).N, o.Compute.N) }

// Quotient is a number that follows from the counters of an operator by a division.
type Quotient struct {
	// Name is its column, Doc says what it is.
	Name, Doc string
	num, den  func(o *Operator) Count
}

// Of is the quotient for an operator; nil if one of the numbers is unknown, or the
// second is 0.
func (q *Quotient) Of(o *Operator) *float64 { return q.num(o).Of(q.den(o)) }

// Quotients are the quotients of counters: how much of the shorter of moves and maths
// ran beside the other, shares of mcu_cycle and of the union, and bytes per cycle. Where
// rows are put together of several cores, bytes per cycle are those of all cores.
func Quotients() []Quotient {
	counter := func(c Column) func(*Operator) Count { return func(o *Operator) Count { return o.Get(c) } }
	compute := func(o *Operator) Count { return o.Compute }
	union := func(o *Operator) Count { return o.Union }
	shorter := func(o *Operator) Count {
		if !o.Union.Known {
			return Count{}
		}
		return count(o.shorter())
	}
	return []Quotient{
		{"overlap", "The part of the shorter of moves and maths that ran beside the other.", func(o *Operator) Count { return o.HiddenData }, shorter},
		{"share_vme", "VME as a share of mcu_cycle.", counter(VME), counter(MCU)},
		{"share_mme", "MME as a share of mcu_cycle.", counter(MME), counter(MCU)},
		{"share_vec", "VEC as a share of mcu_cycle.", counter(Vec), counter(MCU)},
		{"share_syn", "SYN as a share of mcu_cycle.", counter(Syn), counter(MCU)},
		{"share_mte", "MTE as a share of mcu_cycle.", counter(MTE), counter(MCU)},
		{"share_compute", "VME or MME as a share of mcu_cycle.", compute, counter(MCU)},
		{"share_syn_wait", "Waiting for other cores as a share of mcu_cycle.", counter(SynWait), counter(MCU)},
		{"share_l1_conflict", "Bank conflicts at L1 as a share of mcu_cycle.", counter(L1Conflict), counter(MCU)},
		{"share_im_conflict", "Bank conflicts at IMB as a share of mcu_cycle.", counter(IMConflict), counter(MCU)},
		{"share_union", "VME, MME or MTE as a share of mcu_cycle.", union, counter(MCU)},
		{"union_vme", "VME as a share of union.", counter(VME), union},
		{"union_mme", "MME as a share of union.", counter(MME), union},
		{"union_mte", "MTE as a share of union.", counter(MTE), union},
		{"bpc_pld", "Bytes per cycle of pld.", counter(PLDByte), counter(pldCycle)},
		{"bpc_l12llb", "Bytes per cycle of l12llb.", counter(l12llbByte), counter(l12llbCycle)},
		{"bpc_llb2l1", "Bytes per cycle of llb2l1.", counter(llb2l1Byte), counter(llb2l1Cycle)},
		{"bpc_icmov", "Bytes per cycle of icmov.", counter(icmovByte), counter(icmovCycle)},
		{"bpc_dma0_c0", "Bytes per cycle of DMA 0, channel 0.", counter(dma0c0Byte), counter(dma0c0Cycle1)},
		{"bpc_dma0_c1", "Bytes per cycle of DMA 0, channel 1.", counter(dma0c1Byte), counter(dma0c1Cycle1)},
		{"bpc_dma1_c0", "Bytes per cycle of DMA 1, channel 0.", counter(dma1c0Byte), counter(dma1c0Cycle1)},
		{"bpc_dma1_c1", "Bytes per cycle of DMA 1, channel 1.", counter(dma1c1Byte), counter(dma1c1Cycle1)},
	}
}

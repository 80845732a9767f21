package perf

import (
	"fmt"

	"dumptool/internal/lang"
)

// Column is a counter of the tables.
type Column uint8

// The counters, in the order of HPAA's manual. A card's successor has no DMA counters.
const (
	MCU Column = iota
	VME
	MME
	Vec
	Syn
	MTE
	vmeInst
	mmeInst
	vecInst
	synInst
	pldInst
	icmovInst
	movInst
	PalVMEMME
	PalMTEMME
	PalVMEMTE
	PalTotal
	icmovCycle
	l12llbCycle
	llb2l1Cycle
	pldCycle
	PLDByte
	l12llbByte
	llb2l1Byte
	icmovByte
	SynWait
	vecSlotWait
	mmeSlotWait
	mteSlotWait
	L1Conflict
	IMConflict
	DCacheMiss
	ICacheMiss
	instructions
	dma0Conflict
	dma0c0Cycle0
	dma0c0Cycle1
	dma0c0Byte
	dma0c1Cycle0
	dma0c1Cycle1
	dma0c1Byte
	dma1Conflict
	dma1c0Cycle0
	dma1c0Cycle1
	dma1c0Byte
	dma1c1Cycle0
	dma1c1Cycle1
	dma1c1Byte
	numColumns
)

// columnNames are the headings of the counters.
var columnNames = [numColumns]string{
	"mcu_cycle", "vme_cycle", "mme_cycle", "vec_cycle", "syn_cycle", "mte_total_cycle",
	"vme_inst", "mme_inst", "vec_inst", "syn_inst", "mte_pld_inst", "mte_icmov_inst", "mte_mov_inst",
	"pal_vme_mme_cycle", "pal_mte_mme_cycle", "pal_vme_mte_cycle", "pal_total_cycle",
	"mte_icmov_cycle", "mte_l12llb_cycle", "mte_llb2l1_cycle", "mte_pld_cycle",
	"mte_pld_byte", "mte_l12llb_byte", "mte_llb2l1_byte", "mte_icmov_byte",
	"syn_wait_cycle", "vec_slot_wait_cycle", "mme_slot_wait_cycle", "mte_slot_wait_cycle",
	"l1_conflict_cycle", "im_conflict_cycle", "dcache_miss_cnt", "icache_miss_cnt", "instruction_cnt",
	"dma0_llb_conflict_cycle", "dma0_c0_cycle0", "dma0_c0_cycle1", "dma0_c0_byte", "dma0_c1_cycle0", "dma0_c1_cycle1", "dma0_c1_byte",
	"dma1_llb_conflict_cycle", "dma1_c0_cycle0", "dma1_c0_cycle1", "dma1_c0_byte", "dma1_c1_cycle0", "dma1_c1_cycle1", "dma1_c1_byte",
}

// The heading of names, and another one of im_conflict_cycle, which the text of the
// manual has.
const (
	nameColumn = "name"
	imbAlias   = "imb_conflict_cycle"
)

// Columns are all counters in the order of the manual.
func Columns() []Column {
	all := make([]Column, numColumns)
	for i := range all {
		all[i] = Column(i)
	}
	return all
}

// String is the heading of the column.
func (c Column) String() string { return columnNames[c] }

// IsByte reports whether the column counts bytes, which add up over cores.
func (c Column) IsByte() bool {
	switch c {
	case PLDByte, l12llbByte, llb2l1Byte, icmovByte, dma0c0Byte, dma0c1Byte, dma1c0Byte, dma1c1Byte:
		return true
	}
	return false
}

// Counters are the counters of a row, of which some may be unknown.
type Counters struct {
	values [numColumns]int64
	known  uint64 // a bit for each
}

// The bits of known must be enough.
const _ = uint(64 - numColumns)

// Get returns a counter.
func (c *Counters) Get(col Column) Count {
	return Count{c.values[col], c.known>>col&1 != 0}
}

// Set sets a counter.
func (c *Counters) Set(col Column, v Count) {
	c.values[col] = v.N
	c.known &^= 1 << col
	if v.Known {
		c.known |= 1 << col
	}
}

// Unknown are those of columns that are not known.
func (c *Counters) Unknown(columns ...Column) []Column {
	var all []Column
	for _, col := range columns {
		if !c.Get(col).Known {
			all = append(all, col)
		}
	}
	return all
}

// columnSet are the counters that a table has.
type columnSet uint64

func (s columnSet) has(c Column) bool { return s>>c&1 != 0 }

// names are those of the counters.
func (s columnSet) names() []string {
	names := []string{}
	for _, c := range Columns() {
		if s.has(c) {
			names = append(names, c.String())
		}
	}
	return names
}

// columnOf finds a counter by a heading in lower case.
func columnOf(heading string) (Column, bool) {
	if heading == imbAlias {
		return IMConflict, true
	}
	for i, name := range columnNames {
		if name == heading {
			return Column(i), true
		}
	}
	return 0, false
}

// errMissing is the error of a table without a column that nothing can do without.
func errMissing(column, heading string) error {
	return fmt.Errorf("no column %s in the first line, %q", column, lang.Clip(heading))
}

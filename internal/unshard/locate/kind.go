package locate

// Kind is how an axis is cut.
type Kind string

// Values of Kind.
const (
	Whole     Kind = "WHOLE"
	Block     Kind = "BLOCK"
	BlockPad  Kind = "BLOCK+PAD" // with zeros behind the block that the reference does not have
	Zigzag    Kind = "ZIGZAG"    // the chunks c and 2C-1-c of 2C
	Fused2    Kind = "FUSED2"    // the same part of both halves, such as gate and up projection
	Fused3    Kind = "FUSED3"    // a part of each third, such as query, key and value
	Blocks    Kind = "BLOCKS"
	Permuted  Kind = "PERMUTED"
	NotLocal  Kind = "UNKNOWN"
	maxBlocks      = 4
	// maxUnmatched is the maximum share of unmatched slices, 0 to 1, of an axis with a known kind.
	maxUnmatched = 0.1
)

// Kind classifies the index of an axis whose length in the reference is full.
func (x Index) Kind(full int) Kind {
	if x == nil {
		return Whole
	}
	var runs []Run
	unmatched, padded := 0, false
	for _, r := range x.Runs() {
		switch r.From {
		case Unmatched:
			unmatched += r.N
		case Padding:
			padded = true
		default:
			runs = append(runs, r)
		}
	}
	equal := len(runs) > 1
	for _, r := range runs {
		equal = equal && r.N == runs[len(runs)-1].N
	}
	switch n := len(runs); {
	case float64(unmatched) > maxUnmatched*float64(len(x)):
		return NotLocal
	case n == 1 && runs[0].N == full:
		return Whole
	case n == 1 && padded:
		return BlockPad
	case n == 1:
		return Block
	case n == 2 && equal && runs[0].From+runs[1].From == full-runs[0].N:
		return Zigzag
	case n == 2 && equal && runs[1].From-runs[0].From == full/2:
		return Fused2
	case n == 3 && runs[1].N == runs[2].N:
		return Fused3
	case n <= maxBlocks:
		return Blocks
	}
	return Permuted
}

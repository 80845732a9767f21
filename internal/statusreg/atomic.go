package statusreg

// The fields of the atomic add status are read by the precision tool for
// Ascend alone; the CANN documentation only says that any value above 0 is an
// overflow in atomic add. The codes agree with those of reductions in the
// SDMA status.

// dhaCodes is field [15:8] of the DHA status: accumulation in the controller
// of DDR or HBM.
var dhaCodes = []codeRow{
	{0x9, 0x9, numeric | unofficial, "overflow", "atomic add overflowed", "原子累加向上溢出"},
	{0xA, 0xA, numeric | unofficial, "underflow", "atomic add underflowed", "原子累加向下溢出"},
	{0xB, 0xB, numeric | unofficial, "source_illegal", "source operand of atomic add is NaN or illegal", "原子累加源操作数为 NaN 或非法"},
	{0xC, 0xC, numeric | unofficial, "destination_illegal", "destination operand of atomic add is NaN or illegal", "原子累加目的操作数为 NaN 或非法"},
	{0xD, 0xD, numeric | unofficial, "both_illegal", "source and destination operand of atomic add are NaN or illegal", "原子累加源操作数和目的操作数均为 NaN 或非法"},
}

// l2Codes is field [18:16] of the L2 status: accumulation in the L2 cache.
var l2Codes = []codeRow{
	{0, 0, unofficial, "none", "no overflow in atomic add", "原子累加无溢出"},
	{1, 1, numeric | unofficial, "overflow", "atomic add overflowed", "原子累加向上溢出"},
	{2, 2, numeric | unofficial, "underflow", "atomic add underflowed", "原子累加向下溢出"},
	{3, 3, numeric | unofficial, "source_nan", "source operand of atomic add is NaN", "原子累加源操作数为 NaN"},
	{4, 4, numeric | unofficial, "destination_nan", "destination operand of atomic add is NaN", "原子累加目的操作数为 NaN"},
	{5, 5, numeric | unofficial, "both_nan", "source and destination operand of atomic add are NaN", "原子累加源操作数和目的操作数均为 NaN"},
}

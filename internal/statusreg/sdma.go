package statusreg

// sdmaCodes is the completion status of the SDMA engine, after the error
// tables of the CANN runtime. Only 11 and 12 are overflows; 1 to 10 are faults
// of the transfer, whatever the numbers were. Newer schedulers use 8, 9 and 10
// for DDRC, link and poison errors.
var sdmaCodes = []codeRow{
	{0, 0, 0, "success", "success", "成功"},
	{1, 1, 0, "sqe_read", "transfer fault: bad response to reading the SQE, or invalid opcode", "传输故障：读取 SQE 响应错误或操作码无效"},
	{2, 2, 0, "smmu_terminate", "transfer fault: terminated by the SMMU", "传输故障：被 SMMU 终止"},
	{3, 3, 0, "reserved", "transfer fault: reserved code", "传输故障：保留错误码"},
	{4, 4, 0, "ddr_address", "transfer fault: address cannot be accessed in DDR", "传输故障：DDR 中的地址不可访问"},
	{5, 5, 0, "daw_address", "transfer fault: address is not mapped in the DAW", "传输故障：地址未在 DAW 中映射"},
	{6, 6, 0, "operation_type", "transfer fault: wrong type of operation", "传输故障：操作类型错误"},
	{7, 7, 0, "ddrc", "transfer fault: error of the DDR controller", "传输故障：DDRC 错误"},
	{8, 8, 0, "ecc", "transfer fault: ECC error", "传输故障：ECC 错误"},
	{9, 9, 0, "completion", "transfer fault: completion error (link)", "传输故障：完成响应错误(链路)"},
	{10, 10, 0, "completion_data", "transfer fault: completion data error (poison)", "传输故障：完成数据错误(poison)"},
	{11, 11, numeric, "reduce_overflow", "reduction overflowed", "规约运算向上溢出"},
	{12, 12, numeric, "reduce_underflow", "reduction underflowed", "规约运算向下溢出"},
	{13, 13, 0, "reduce_source_illegal", "source data of reduction has an illegal format", "规约运算源数据格式非法"},
	{14, 14, 0, "reduce_destination_illegal", "destination data of reduction has an illegal format", "规约运算目的数据格式非法"},
	{15, 15, 0, "reduce_both_illegal", "source and destination data of reduction have an illegal format", "规约运算源数据和目的数据格式均非法"},
}

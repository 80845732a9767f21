package statusreg

// aicoreBits is the AI Core status word of overflow records, as the CANN
// documentation on overflow data lists it. The value is an OR over all blocks
// of the operator. Kernels of Ascend 910 and 310P that were compiled with a
// status check report bits 5, 8 and 10 only; the meaning of other bits is not
// public.
var aicoreBits = []bitRow{
	{3, numeric, "neg_overflow", "negation of the smallest signed integer overflowed", "有符号整数最小负数 NEG(符号位取反)溢出"},
	{4, numeric, "int_overflow", "integer addition, subtraction, multiplication or multiply-add overflowed", "整数加、减、乘或乘加溢出"},
	{5, numeric, "float_overflow", "floating-point computation overflowed", "浮点计算有溢出"},
	{7, numeric, "negative_to_unsigned", "conversion from floating point to unsigned integer had a negative input", "浮点数转无符号数的输入为负数"},
	{8, numeric, "fp16_conversion_overflow", "conversion from FP32 or INT32 to FP16 overflowed", "FP32 转 FP16 或 32 位有符号整数转 FP16 溢出"},
	{10, numeric, "cube_overflow", "CUBE accumulation overflowed", "CUBE 累加溢出"},
}

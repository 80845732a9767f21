package statusreg

import (
	"slices"

	"dumptool/internal/lang"
)

// adviceRow is what to do about some bits or codes of some registers.
type adviceRow struct {
	registers []Register
	numbers   []uint64 // bits or codes
	advice    lang.Text
}

// adviceRows collects what the CANN and MindSpore documentation and users'
// reports recommend.
var adviceRows = []adviceRow{
	{[]Register{AICore}, []uint64{3, 4}, lang.Text{
		EN: "check the range of the integers, above all index arithmetic",
		ZH: "检查整数取值范围，尤其是下标计算",
	}},
	{[]Register{AICore}, []uint64{5}, lang.Text{
		EN: "run the operator in FP32 (mixed precision black list, keep_dtype), lower the loss scale, and check constants and attributes; " +
			"if FP32 would not overflow here, report it to the owner of the operator",
		ZH: "让该算子以 FP32 计算(混合精度黑名单、keep_dtype)，降低 loss scale，并检查常量和属性；若 FP32 下不应溢出，请反馈给算子开发者",
	}},
	{[]Register{AICore}, []uint64{7}, lang.Text{
		EN: "look for a cast to an unsigned type that is fed negative numbers",
		ZH: "查找输入含负数的无符号类型转换",
	}},
	{[]Register{AICore}, []uint64{8}, lang.Text{
		EN: "look for a Cast to FP16, also one fused into another operator, and keep its input in FP32 or scale it down",
		ZH: "查找转 FP16 的 Cast(含融合到其他算子中的 Cast)，保持 FP32 或缩小其输入",
	}},
	{[]Register{AICore}, []uint64{10}, lang.Text{
		EN: "look at the accumulation of MatMul or convolution: scale the inputs down, or use FP32 output and accumulation",
		ZH: "检查 MatMul 或卷积的累加：缩小输入，或使用 FP32 输出和累加",
	}},
	{[]Register{DHA}, []uint64{0x9, 0xA, 0xB, 0xC, 0xD}, atomicAdvice},
	{[]Register{L2}, []uint64{1, 2, 3, 4, 5}, atomicAdvice},
	{[]Register{SDMA}, []uint64{11, 12, 13, 14, 15}, atomicAdvice},
	{[]Register{AICError}, []uint64{9, 54, 72, 156}, upstreamAdvice},
	{[]Register{DavidCube}, []uint64{4}, upstreamAdvice},
	{[]Register{DavidL1High}, []uint64{22}, upstreamAdvice},
	{[]Register{DavidL1}, []uint64{32 + 22}, upstreamAdvice},
	{[]Register{DavidSU}, []uint64{6}, upstreamAdvice},
	{[]Register{DavidVec}, []uint64{16}, upstreamAdvice},
	{[]Register{AICError}, []uint64{23}, lang.Text{
		EN: "if this is the only bit, the logs also have a line \"dha status 1\" and the operator's output was not cleared " +
			"before atomic add, it is an overflow in atomic add",
		ZH: "若仅置此位，日志中同时有 dha status 1，且算子输出在原子累加前未清零，则为 Atomic Add 溢出",
	}},
}

var (
	atomicAdvice = lang.Text{
		EN: "look at gradient accumulation or atomic reduction in FP16: accumulate in FP32",
		ZH: "检查 FP16 的梯度累加或原子规约：改用 FP32 累加",
	}
	upstreamAdvice = lang.Text{
		EN: "the input already holds Inf or NaN: look for the operator that made it, further up",
		ZH: "输入中已有 Inf 或 NaN：向上游查找产生它的算子",
	}
)

// adviceOn returns the advice on a bit or code, empty when there is none.
func adviceOn(r Register, number uint64) lang.Text {
	for i := range adviceRows {
		row := &adviceRows[i]
		if slices.Contains(row.registers, r) && slices.Contains(row.numbers, number) {
			return row.advice
		}
	}
	return lang.Text{}
}

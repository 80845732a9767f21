package perf

import (
	"cmp"
	"strconv"
	"strings"

	"dumptool/internal/lang"
)

// Advice is a finding about an operator, with its numbers and what helps.
type Advice struct {
	Code Code
	Says lang.Sentence
}

// percent prints a share.
func percent(part, whole int64) string {
	if whole == 0 {
		return "-"
	}
	return short(float64(part)/float64(whole)*100) + " %"
}

// short prints at most one decimal.
func short(x float64) string {
	return strings.TrimSuffix(strconv.FormatFloat(x, 'f', 1, 64), ".0")
}

// times prints a factor.
func times(x float64) string { return "x " + strconv.FormatFloat(x, 'f', 2, 64) }

// factor prints how many times a number is another one, with a blank in front; nothing
// where that one is 0.
func factor(after, before int64) string {
	if before == 0 {
		return ""
	}
	return " (" + times(float64(after)/float64(before)) + ")"
}

// bytesText prints a number of bytes.
func bytesText(n int64) lang.Text {
	const step = 1024
	if n < step {
		return lang.CountText(int(n), "byte", "字节")
	}
	x, unit := float64(n)/step, 0
	for x >= step && unit < len("KMGTPE")-1 {
		x, unit = x/step, unit+1
	}
	text := strconv.FormatFloat(x, 'f', 1, 64) + " " + "KMGTPE"[unit:unit+1] + "iB"
	return lang.Text{EN: text, ZH: text}
}

func repeatedMoves(o *Operator) Advice {
	before, after := o.Before.Get(PLDByte).N, o.Get(PLDByte).N
	return Advice{RepeatedMoves, lang.Sayf("pld moved %s, %s before%s: repeated moves; change schedule or tiling",
		"pld 搬移 %s，之前 %s%s：存在重复搬移，请调整 schedule 或 tiling", bytesText(after), bytesText(before), factor(after, before))}
}

// buffers are the names of the buffers with bank conflicts.
var buffers = map[Code]string{L1Conflicts: "L1", IMBConflicts: "IMB"}

func conflictsGrew(o *Operator, code Code, c Column) Advice {
	before, after := o.Before.Get(c).N, o.Get(c).N
	return Advice{code, lang.Sayf("bank conflicts at %[1]s take %[2]d cycles, %[3]d before%[4]s: smaller %[1]s tiles",
		"%[1]s 的 bank 冲突占 %[2]d 周期，之前 %[3]d%[4]s：将 tiling 的 %[1]s 切分参数调小", buffers[code], after, before, factor(after, before))}
}

func conflicts(o *Operator, code Code, c Column) Advice {
	n, mcu := o.Get(c).N, o.Get(MCU).N
	return Advice{code, lang.Sayf("bank conflicts at %[1]s take %[2]d of %[3]d cycles (%[4]s): smaller %[1]s tiles",
		"%[1]s 的 bank 冲突占 %[3]d 周期中的 %[2]d（%[4]s）：将 tiling 的 %[1]s 切分参数调小", buffers[code], n, mcu, percent(n, mcu))}
}

func imbalance(o *Operator) Advice {
	c := o.Cores
	return Advice{Imbalance, lang.Sayf("core %d takes %d cycles, the mean of %d cores is %s (%s): split the work evenly",
		"核 %d 用 %d 周期，%d 个核的平均为 %s（%s）：请均匀切分", c.Slowest, c.Cycles, c.Known, short(c.Mean()), times(*c.Imbalance()))}
}

// unitNames are the units of class compute as the manual writes them.
var unitNames = map[string]string{"mme": "MME", "vme": "VME"}

// explain says why an operator is of its class, with the numbers that decided, and what
// helps.
func explain(o *Operator) lang.Sentence {
	if o.Class == ClassUnknown {
		return lang.Sayf("unknown: no %s", "未知：缺少 %s", strings.Join(o.Evidence, ", "))
	}
	mcu, moves, maths, union := o.Get(MCU).N, o.Get(MTE).N, o.Compute.N, o.Union.N
	ofMCU := func(n int64) string { return percent(n, mcu) }
	both := lang.Sayf("moves take %s, VME and MME %s", "搬移占 %s，VME 与 MME 占 %s", ofMCU(moves), ofMCU(maths))
	switch o.Class {
	case ClassIdle:
		return lang.Sayf("mcu_cycle is 0: it did not run, or was not counted", "mcu_cycle 为 0：未运行或未计数")
	case ClassInconsistent:
		return lang.Sayf("VME %d, MME %d, MTE %d of %d cycles, together VME+MME %d, MTE+MME %d, VME+MTE %d, all %d: counters wrapped (32 bits) or are sums over other things than mcu_cycle; not analysed",
			"VME %d、MME %d、MTE %d，共 %d 周期；并行 VME+MME %d、MTE+MME %d、VME+MTE %d、三者 %d：计数器回绕（32 位），或与 mcu_cycle 的统计范围不同；不作分析",
			o.Get(VME).N, o.Get(MME).N, moves, mcu, o.Get(PalVMEMME).N, o.Get(PalMTEMME).N, o.Get(PalVMEMTE).N, o.Get(PalTotal).N)
	case ClassSync:
		wait := o.Get(SynWait).N
		return lang.Sayf("waits for other cores in %d of %d cycles (%s): uneven split; look at the per-core files",
			"%[2]d 周期中有 %[1]d（%[3]s）在等待其他核：切分不均，请查看各核的文件", wait, mcu, ofMCU(wait))
	case ClassControl:
		ofUnion := func(n int64) string { return percent(n, union) }
		return lang.Sayf("moves, VME and MME fill %s of mcu_cycle (%s, %s and %s of that): scalar code, instruction issue, cache misses (dcache %s, icache %s) or small shapes; fuse or batch",
			"搬移、VME 与 MME 只占 mcu_cycle 的 %s（其中各占 %s、%s、%s）：标量代码、指令发射、缓存未命中（dcache %s，icache %s）或形状太小；请融合或增大 batch",
			ofMCU(union), ofUnion(moves), ofUnion(o.Get(VME).N), ofUnion(o.Get(MME).N), cmp.Or(o.Get(DCacheMiss).String(), "-"), cmp.Or(o.Get(ICacheMiss).String(), "-"))
	case ClassData:
		return lang.Sayf("%s; %d of %d cycles only move data: fewer or larger moves, reuse in L1, double buffering",
			"%s；%[3]d 周期中有 %[2]d 只在搬移数据：减少或合并搬移、在 L1 中复用、双缓冲", both, o.ExposedData.N, mcu)
	case ClassCompute:
		busier, cycles := unitNames[o.Unit], o.Get(MME).N
		if o.Unit == "vme" {
			cycles = o.Get(VME).N
		}
		return lang.Sayf("%s, most in %s (%s): tile shapes that fill the unit, fp16, fewer VME passes",
			"%s，主要是 %s（%s）：选用能填满单元的切分、fp16、减少 VME 次数", both, busier, ofMCU(cycles))
	case ClassSerial:
		shorter := o.shorter()
		return lang.Sayf("%s, and overlap for %s of the shorter one: with full overlap up to %d of %d cycles would go; double buffering",
			"%s，较短者只有 %s 与另一者并行：完全并行时最多可省 %[4]d 周期中的 %[3]d；双缓冲", both, percent(o.HiddenData.N, shorter), shorter-o.HiddenData.N, mcu)
	}
	if o.Confidence == Medium {
		return lang.Sayf("%s: near the ridge, both have to shrink", "%s：接近屋脊点，两者都需减少", both)
	}
	return lang.Sayf("%s: neither leads", "%s：均不占优", both)
}

// hints are what helps against the classes, in a few words.
var hints = map[Class]lang.Text{
	ClassSync:    {EN: "split evenly", ZH: "均匀切分"},
	ClassControl: {EN: "fuse or batch", ZH: "融合或增大 batch"},
	ClassData:    {EN: "fewer or larger moves", ZH: "减少或合并搬移"},
	ClassCompute: {EN: "tile shapes, fp16", ZH: "切分形状、fp16"},
	ClassSerial:  {EN: "double buffering", ZH: "双缓冲"},
}

// Hint says what helps in a few words: the codes of the findings, else what the class
// calls for; empty where there is nothing to say.
func (o *Operator) Hint() lang.Text {
	if text := strings.Join(o.Codes(), ", "); text != "" {
		return lang.Text{EN: text, ZH: text}
	}
	return hints[o.Class]
}

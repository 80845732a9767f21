package overflow

import (
	"slices"

	"dumptool/internal/lang"
)

// verdictAdvice is what to do by verdict, in the words of the public
// documentation on overflow data and of the MindSpore guides.
var verdictAdvice = map[Verdict]lang.Text{
	ProducedHere: {
		EN: "this operator overflowed: run it in FP32 (keep it out of mixed precision), lower the loss scale, or check its constants and attributes; if FP32 would not overflow, report it to the owner of the operator",
		ZH: "该算子发生溢出：改用 FP32 计算(加入混合精度黑名单)、降低 loss scale，或检查常量与属性；若 FP32 不会溢出，请联系算子负责人",
	},
	CameIn: {
		EN: "the inputs are bad already: go upstream to the operators that made them",
		ZH: "输入已异常：向上游查找产生这些输入的算子",
	},
	CameFromRank: {
		EN: "another rank sent it: scan the dumps of the other ranks",
		ZH: "由其他 rank 发来：扫描其他 rank 的 dump",
	},
	ProcessOverflow: {
		EN: "an intermediate value saturated (such as the sum of a pooling); often harmless, compare the output with a golden run",
		ZH: "计算过程中的中间值溢出(例如池化求和)；通常无影响，可与标杆结果比对输出",
	},
	CannotTell: {
		EN: "look at the operators before it in time order, and dump inputs and outputs (dump_mode all)",
		ZH: "按时间顺序查看之前的算子，并同时 dump 输入和输出(dump_mode 为 all)",
	},
}

// advice collects what to do about a record: by its verdict, then by the causes
// that its status names.
func advice(r *Record) []lang.Text {
	all := []lang.Text{verdictAdvice[r.Verdict]}
	for _, s := range r.Words() {
		for _, e := range s.Entries {
			if e.Advice != (lang.Text{}) && !slices.Contains(all, e.Advice) {
				all = append(all, e.Advice)
			}
		}
	}
	return all
}

// NothingFound is what usually explains a tree without overflow records.
var NothingFound = []lang.Text{
	{EN: "offline models need status checking when they are built (ATC --status_check=1, or ge.status_check) on 910 and 310P",
		ZH: "在 910/310P 上，离线模型转换时需开启状态检查(ATC --status_check=1 或 ge.status_check)"},
	{EN: "overflow dump excludes model dump and single-operator dump: only one of them can be on (dump_debug)",
		ZH: "溢出 dump 与模型 dump、单算子 dump 互斥，只能开启一种(dump_debug)"},
	{EN: "another device or rank may have overflowed: look at its folder too",
		ZH: "溢出可能发生在其他卡或 rank：请检查其目录"},
	{EN: "inside a container the dump path is a path of the container",
		ZH: "容器内运行时，dump 路径是容器内的路径"},
	{EN: "in saturation mode infinities become the largest value: 'dumptool overflow scan' finds those in ordinary dumps",
		ZH: "饱和模式下 inf 会变为最大值：可用 dumptool overflow scan 检查普通 dump"},
}

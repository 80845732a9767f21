package overflow

import (
	"slices"

	"dumptool/internal/lang"
	"dumptool/internal/optype"
)

// Verdict says where the bad values of an operator come from.
type Verdict string

// The verdicts.
const (
	ProducedHere    Verdict = "produced here"
	CameIn          Verdict = "came in"
	ProcessOverflow Verdict = "process overflow"
	CannotTell      Verdict = "cannot tell"
	// CameFromRank is ProducedHere of an operator that only hands on what other ranks sent.
	CameFromRank Verdict = "came from another rank"
)

// Reasons for CannotTell that do not depend on the tensors.
var (
	whyNoDump = lang.Text{EN: "no dump of the operator was found", ZH: "未找到该算子的 dump"}
	whyBroken = lang.Text{EN: "the operator's dump cannot be read", ZH: "该算子的 dump 无法读取"}
	whyGuess  = lang.Text{EN: "the operator is a guess, and its tensors do not confirm it", ZH: "算子仅为推测，其张量不能证实"}
)

// fromRank reports whether the bad outputs of an operator, whose inputs are good, were
// sent by another rank: of a sum over ranks NaN are, infinities may come from adding up.
func fromRank(opType, name string, tensors []Tensor) bool {
	op := optype.Of(opType)
	if opType == "" {
		op = optype.OfCall(name)
	}
	return op.Noise == optype.NoiseRanks && (op.Buffer != optype.NoInput ||
		slices.ContainsFunc(tensors, func(t Tensor) bool { return t.Bad && t.showsNaN() }))
}

// judge compares the inputs of an operator with its outputs. Bad inputs come
// from upstream; clean inputs and bad outputs make the operator the culprit;
// when nothing is bad, only an intermediate value overflowed. Without the
// inputs the outputs of the producers stand for them; without these too, or with tensors
// that cannot be read, nothing is certain.
func judge(tensors []Tensor, producers ...Producer) (v Verdict, why lang.Text) {
	var in, out struct{ all, bad, unread int }
	for i := range tensors {
		t, side := &tensors[i], &out
		if t.Kind.IsInput() {
			side = &in
		}
		side.all++
		if t.Bad {
			side.bad++
		}
		if t.err != nil && !t.NotNumeric() {
			side.unread++
		}
	}
	switch {
	case in.all+out.all == 0:
		return CannotTell, lang.Text{EN: "there are no tensors to look at", ZH: "没有可检查的张量"}
	case in.bad > 0:
		return CameIn, lang.Text{EN: "an input is bad already", ZH: "有输入已异常"}
	case in.unread > 0:
		return CannotTell, lang.Text{EN: "not every input could be read", ZH: "部分输入无法读取"}
	case in.all == 0 && slices.ContainsFunc(producers, func(p Producer) bool { return p.Bad() }):
		return CameIn, lang.Text{EN: "an output that it reads is bad already", ZH: "所读取的上游输出已异常"}
	case in.all == 0 && out.bad > 0 && len(producers) > 0 && !slices.ContainsFunc(producers, func(p Producer) bool { return !p.known() || len(p.Through) > 0 }):
		return ProducedHere, lang.Text{EN: "the outputs of other operators that it reads are clean, an output is not", ZH: "所读取的其他算子的输出正常，输出异常"}
	case in.all == 0 && out.bad > 0:
		return CannotTell, lang.Text{EN: "the inputs were not dumped", ZH: "没有 dump 输入"}
	case out.bad > 0:
		return ProducedHere, lang.Text{EN: "the inputs are clean, an output is not", ZH: "输入正常，输出异常"}
	case in.all == 0 || out.all == 0 || out.unread > 0:
		return CannotTell, lang.Text{EN: "not everything was dumped or could be read, and what there is looks clean", ZH: "输入输出未全部 dump 或无法读取，已有部分正常"}
	}
	return ProcessOverflow, lang.Text{EN: "neither inputs nor outputs are bad: an intermediate value overflowed", ZH: "输入输出均正常，计算过程中的中间值溢出"}
}

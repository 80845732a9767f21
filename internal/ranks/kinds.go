package ranks

import (
	"dumptool/internal/finding"
	"dumptool/internal/lang"
	"dumptool/internal/trace"
)

// Kind names a fault or an oddity.
type Kind string

// The kinds of findings, and behind them those of notes.
const (
	MissingRank  Kind = "MISSING_RANK"
	DoubleRank   Kind = "DOUBLE_RANK"
	Averaged     Kind = "AVERAGED"
	NotAveraged  Kind = "NOT_AVERAGED"
	NotReduced   Kind = "NOT_REDUCED"
	WrongPart    Kind = "WRONG_PART"
	Stale        Kind = "STALE"
	Swapped      Kind = "SWAPPED"
	NotReceived  Kind = "NOT_RECEIVED"
	SentOther    Kind = "SENT_OTHER"
	Corrupt      Kind = "CORRUPT"
	CallsDiffer  Kind = "CALLS_DIFFER"
	Replica      Kind = "REPLICA"
	ReplicaBit   Kind = "REPLICA_BIT"
	StaleWeights Kind = "STALE_WEIGHTS"
	StaleInput   Kind = "STALE_INPUT"
	WrongExpert  Kind = "WRONG_EXPERT"
	Compute      Kind = "COMPUTE"

	RoundingPerRank  Kind = "ROUNDING_PER_RANK"
	Drift            Kind = "DRIFT"
	NotDeterministic Kind = "NOT_DETERMINISTIC"
	LowPrecisionComm Kind = "LOW_PRECISION_COMM"
	InputTooLate     Kind = "INPUT_TOO_LATE"
	OverflowInSum    Kind = "OVERFLOW_IN_SUM"
	RoutingFlip      Kind = "ROUTING_FLIP"
)

// Class is where a finding belongs in the order of cause: of findings at one place those
// of earlier classes count first.
type Class string

// The classes, in their order.
const (
	CommClass      Class = "comm"
	InputClass     Class = "input"
	ParameterClass Class = "parameter"
	ComputeClass   Class = "compute"
	noteClass      Class = "note"
)

var classOrder = map[Class]int{CommClass: 0, InputClass: 1, ParameterClass: 2, ComputeClass: 3, noteClass: 4}

// Meaning has the words for a kind.
type Meaning struct {
	Kind  Kind
	Class Class
	// Short completes a sentence about a rank: rank 5 ...
	Short lang.Text
	// Advice is what to do.
	Advice lang.Text
}

// Kinds are all kinds of findings and notes.
var Kinds = []Meaning{
	{MissingRank, CommClass, lang.Text{EN: "is left out of a sum", ZH: "未被计入求和"}, lang.Text{EN: "look for a rank that called later or with another buffer", ZH: "查找调用较晚或使用其他缓冲区的 rank"}},
	{DoubleRank, CommClass, lang.Text{EN: "counts twice in a sum", ZH: "在求和中被计入两次"}, lang.Text{EN: "look for a buffer that is reduced twice", ZH: "查找被归约两次的缓冲区"}},
	{Averaged, CommClass, lang.Text{EN: "holds the average in place of the sum", ZH: "得到的是平均值而非求和"}, lang.Text{EN: "compare the reduction that the ranks ask for", ZH: "比较各 rank 请求的归约方式"}},
	{NotAveraged, CommClass, lang.Text{EN: "holds the sum in place of the average", ZH: "得到的是求和而非平均值"}, lang.Text{EN: "compare the reduction that the ranks ask for", ZH: "比较各 rank 请求的归约方式"}},
	{NotReduced, CommClass, lang.Text{EN: "holds its own input in place of the sum", ZH: "得到的是自身输入而非求和"}, lang.Text{EN: "look for a result that is read before the communication ends", ZH: "查找在通信结束前被读取的结果"}},
	{WrongPart, CommClass, lang.Text{EN: "holds the part of another rank", ZH: "得到的是其他 rank 的部分"}, lang.Text{EN: "compare the order of ranks in the group and the splits", ZH: "比较组内 rank 的顺序与切分"}},
	{Stale, CommClass, lang.Text{EN: "holds what the communication before gave", ZH: "得到的是上一次通信的结果"}, lang.Text{EN: "look for a missing wait before the buffer is read or used again", ZH: "检查读取或复用缓冲区前是否缺少 wait"}},
	{Swapped, CommClass, lang.Text{EN: "holds parts in another order", ZH: "得到的各部分顺序不同"}, lang.Text{EN: "compare the order of ranks in the group", ZH: "比较组内 rank 的顺序"}},
	{NotReceived, CommClass, lang.Text{EN: "has not received what was sent", ZH: "未收到发送的内容"}, lang.Text{EN: "look for a missing wait, or a rank outside of the group", ZH: "检查是否缺少 wait，或 rank 不在组内"}},
	{SentOther, CommClass, lang.Text{EN: "sent something else than its buffer held", ZH: "发送的内容与其缓冲区不同"}, lang.Text{EN: "look for a buffer that is written to before the communication ends", ZH: "查找在通信结束前被写入的缓冲区"}},
	{Corrupt, CommClass, lang.Text{EN: "received damaged elements", ZH: "收到的元素已损坏"}, lang.Text{EN: "check the link and HCCL of these ranks", ZH: "检查这些 rank 的链路与 HCCL"}},
	{CallsDiffer, CommClass, lang.Text{EN: "communicates more or less often than its group", ZH: "通信次数与组内其他 rank 不同"}, lang.Text{EN: "compare the calls of the ranks; the dump may be cut", ZH: "比较各 rank 的调用；dump 可能不完整"}},
	{Replica, ParameterClass, lang.Text{EN: "holds other weights than its replicas", ZH: "权重与其副本不同"}, lang.Text{EN: "compare how the ranks load and update this weight", ZH: "比较各 rank 加载与更新该权重的方式"}},
	{ReplicaBit, ParameterClass, lang.Text{EN: "has one bit of a weight flipped", ZH: "权重的一个比特翻转"}, lang.Text{EN: "check the memory of this device", ZH: "检查该设备的内存"}},
	{StaleWeights, ParameterClass, lang.Text{EN: "computes with the weights of the step before", ZH: "使用上一 step 的权重计算"}, lang.Text{EN: "look for an update that this rank has not done", ZH: "查找该 rank 未执行的更新"}},
	{StaleInput, InputClass, lang.Text{EN: "computes with the data of the step before", ZH: "使用上一 step 的数据计算"}, lang.Text{EN: "look at the data loader of this rank", ZH: "检查该 rank 的数据加载"}},
	{WrongExpert, InputClass, lang.Text{EN: "holds other experts than it should", ZH: "持有的专家不正确"}, lang.Text{EN: "compare the placement of experts", ZH: "比较专家的放置"}},
	{Compute, ComputeClass, lang.Text{EN: "computes another result from equal inputs", ZH: "由相同输入得到不同结果"}, lang.Text{EN: "run this operator alone with its inputs", ZH: "使用其输入单独运行该算子"}},

	{RoundingPerRank, noteClass, lang.Text{EN: "ranks hold different roundings of one sum", ZH: "各 rank 持有同一求和的不同舍入"}, lang.Text{EN: "HCCL_DETERMINISTIC=true makes them equal", ZH: "设置 HCCL_DETERMINISTIC=true 可使其一致"}},
	{Drift, noteClass, lang.Text{EN: "replicas differ by the rounding of sums", ZH: "副本因求和舍入而不同"}, lang.Text{}},
	{NotDeterministic, noteClass, lang.Text{EN: "equal inputs give results that differ by rounding", ZH: "相同输入的结果因舍入而不同"}, lang.Text{}},
	{LowPrecisionComm, noteClass, lang.Text{EN: "a reduction has fewer bits than its type", ZH: "归约的精度低于其类型"}, lang.Text{}},
	{InputTooLate, noteClass, lang.Text{EN: "inputs were dumped after the communication", ZH: "输入在通信之后才被 dump"}, lang.Text{}},
	{OverflowInSum, noteClass, lang.Text{EN: "sums may have overflowed", ZH: "求和可能溢出"}, lang.Text{}},
	{RoutingFlip, noteClass, lang.Text{EN: "tokens go to other experts than in the reference", ZH: "部分 token 被路由到与标杆不同的专家"}, lang.Text{}},
}

// MeaningOf returns the words for a kind, nil for an unknown one.
func MeaningOf(k Kind) *Meaning {
	for i := range Kinds {
		if Kinds[i].Kind == k {
			return &Kinds[i]
		}
	}
	return nil
}

const (
	high   = finding.High
	medium = finding.Medium
	low    = finding.Low
)

// Finding is something that is wrong with a rank, and its form in documents.
type Finding struct {
	// Step, Rank and Op say where it is.
	Step string `json:"step"`
	Rank int    `json:"rank"`
	Op   string `json:"op"`
	// Kind is the fault, Class its place in the order of cause, Confidence how sure it is.
	Kind       Kind               `json:"kind"`
	Class      Class              `json:"class"`
	Confidence finding.Confidence `json:"confidence"`
	// Own says that the call is wrong by itself, whatever its inputs are.
	Own bool `json:"own"`
	// Alt are other ranks that may have the fault in place of Rank.
	Alt []int `json:"alt"`
	// Members are the ranks that take part.
	Members []int `json:"members"`
	// Evidence says why, Chinese in that language; Facts are its numbers.
	Evidence lang.Sentence `json:"evidence"`
	Chinese  string        `json:"evidence_zh"`
	Facts    finding.Facts `json:"facts"`
	// Module is the module around a communication, Script the line of the user's script.
	Module string `json:"module,omitempty"`
	Script string `json:"script,omitempty"`
	// Spread is the damage that may follow from it; the first findings have one.
	Spread *Spread `json:"spread,omitempty"`

	// Consistent: recomputation from its inputs confirms the operator, although it differs from the
	// reference. Such findings come last.
	Consistent bool `json:"-"`

	call    *trace.Call
	refuted bool // another finding contradicts it
}

// Weight is what --fail-on calls a finding: weak for one of low confidence.
func (f *Finding) Weight() string {
	if f.Confidence == low {
		return "weak"
	}
	return "wrong"
}

// Advice says what to do about the finding, empty for nothing. A group of one rank copies in the
// memory of its device: no link takes part.
func (f *Finding) Advice() lang.Text {
	if f.Kind == Corrupt && len(f.Members) == 1 {
		return lang.Text{EN: "no link takes part in a group of one: look for a buffer that is read or written before the copy ends, and check the memory of this device",
			ZH: "单 rank 组不经过链路：检查缓冲区是否在拷贝完成前被读取或写入，并检查该设备的内存"}
	}
	return MeaningOf(f.Kind).Advice
}

// Headline names the fault and the rank in one line.
func (f *Finding) Headline() lang.Sentence {
	word := lang.Text{EN: "WRONG", ZH: "错误"}
	if f.Weight() == "weak" {
		word = lang.Text{EN: "SUSPECT", ZH: "可疑"}
	}
	return lang.Sayf("%s: %s", "%s：%s", word, f.Said())
}

// Said names the rank, the fault, the operator and the step.
func (f *Finding) Said() lang.Sentence {
	module := ""
	if f.Module != "" {
		module = " (" + f.Module + ")"
	}
	who := trace.RankText(append([]int{f.Rank}, f.Alt...))
	if len(f.Alt) > 0 {
		who = lang.Sayf("one of %s", "%s 之一", who).Text()
	}
	return lang.Sayf("%s %s: %s%s, step %s", "%s %s：%s%s，step %s", who, MeaningOf(f.Kind).Short, f.Op, module, f.Step)
}

// Spread is the damage that may follow from a finding.
type Spread struct {
	// Ranks and Steps have damaged calls, Tensors counts their outputs.
	Ranks   []int    `json:"ranks"`
	Steps   []string `json:"steps"`
	Tensors int      `json:"tensors"`
}

// Note is an oddity that is no fault.
type Note struct {
	// Kind is the oddity, Step and Op are its first place.
	Kind Kind   `json:"kind"`
	Step string `json:"step"`
	Op   string `json:"op"`
	// Ranks have the oddity.
	Ranks []int `json:"ranks"`
	// Count is the number of occurrences.
	Count int `json:"count"`

	step int // in the order of the run
}

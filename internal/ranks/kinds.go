package ranks

import (
	"dumptool/internal/finding"
	"dumptool/internal/lang"
	"dumptool/internal/trace"
)

// Kind names a fault or an oddity.
type Kind string

// The kinds of findings, followed by the kinds of notes.
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

// Class is the rank of a fault in the causal order: of findings about the same call, earlier classes come first.
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

// Meaning explains a kind.
type Meaning struct {
	Kind  Kind
	Class Class
	// Short completes a sentence about a rank: rank 5 ...
	Short lang.Text
	// Advice says what to do.
	Advice lang.Text
}

// Kinds lists all kinds of findings and notes.
var Kinds = []Meaning{
	{MissingRank, CommClass, lang.Text{EN: "is left out of a sum"}, lang.Text{EN: "look for a rank that called later or with another buffer"}},
	{DoubleRank, CommClass, lang.Text{EN: "counts twice in a sum"}, lang.Text{EN: "look for a buffer that is reduced twice"}},
	{Averaged, CommClass, lang.Text{EN: "holds the average in place of the sum"}, lang.Text{EN: "compare the reduction that the ranks ask for"}},
	{NotAveraged, CommClass, lang.Text{EN: "holds the sum in place of the average"}, lang.Text{EN: "compare the reduction that the ranks ask for"}},
	{NotReduced, CommClass, lang.Text{EN: "holds its own input in place of the sum"}, lang.Text{EN: "look for a result that is read before the communication ends"}},
	{WrongPart, CommClass, lang.Text{EN: "has the data of another rank"}, lang.Text{EN: "compare the order of ranks in the group and the splits"}},
	{Stale, CommClass, lang.Text{EN: "still holds the result of the previous communication"}, lang.Text{EN: "look for a missing wait before the buffer is read or used again"}},
	{Swapped, CommClass, lang.Text{EN: "holds parts in another order"}, lang.Text{EN: "compare the order of ranks in the group"}},
	{NotReceived, CommClass, lang.Text{EN: "did not receive the data that was sent"}, lang.Text{EN: "look for a missing wait, or a rank outside of the group"}},
	{SentOther, CommClass, lang.Text{EN: "sent data that differ from its buffer"}, lang.Text{EN: "look for a buffer that is written to before the communication ends"}},
	{Corrupt, CommClass, lang.Text{EN: "received damaged elements"}, lang.Text{EN: "check the link and HCCL of these ranks"}},
	{CallsDiffer, CommClass, lang.Text{EN: "communicates more or less often than its group"}, lang.Text{EN: "compare the calls of the ranks; the dump may be cut"}},
	{Replica, ParameterClass, lang.Text{EN: "has weights that differ from their replicas on other ranks"}, lang.Text{EN: "compare how the ranks load and update this weight"}},
	{ReplicaBit, ParameterClass, lang.Text{EN: "has one bit of a weight flipped"}, lang.Text{EN: "check the memory of this device"}},
	{StaleWeights, ParameterClass, lang.Text{EN: "computes with the weights of the previous step"}, lang.Text{EN: "look for an update that this rank has not done"}},
	{StaleInput, InputClass, lang.Text{EN: "computes with the data of the previous step"}, lang.Text{EN: "look at the data loader of this rank"}},
	{WrongExpert, InputClass, lang.Text{EN: "holds the wrong experts"}, lang.Text{EN: "compare the placement of experts"}},
	{Compute, ComputeClass, lang.Text{EN: "computes a different result from the same inputs"}, lang.Text{EN: "run this operator alone with its inputs"}},

	{RoundingPerRank, noteClass, lang.Text{EN: "ranks have different roundings of the same sum"}, lang.Text{EN: "HCCL_DETERMINISTIC=true makes them equal"}},
	{Drift, noteClass, lang.Text{EN: "replicas differ by the rounding of sums"}, lang.Text{}},
	{NotDeterministic, noteClass, lang.Text{EN: "equal inputs give results that differ by rounding"}, lang.Text{}},
	{LowPrecisionComm, noteClass, lang.Text{EN: "a reduction has fewer bits than its type"}, lang.Text{}},
	{InputTooLate, noteClass, lang.Text{EN: "inputs were dumped after the communication"}, lang.Text{}},
	{OverflowInSum, noteClass, lang.Text{EN: "sums may have overflowed"}, lang.Text{}},
	{RoutingFlip, noteClass, lang.Text{EN: "tokens go to other experts than in the reference"}, lang.Text{}},
}

// MeaningOf returns the meaning of a kind, nil for an unknown kind.
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

// Finding is a fault of a rank, and its JSON form.
type Finding struct {
	// Step, Rank and Op name the place of the fault.
	Step string `json:"step"`
	Rank int    `json:"rank"`
	Op   string `json:"op"`
	// Kind is the fault, Class its rank in the causal order, Confidence the confidence in it.
	Kind       Kind               `json:"kind"`
	Class      Class              `json:"class"`
	Confidence finding.Confidence `json:"confidence"`
	// Own: the call is wrong whatever its inputs are.
	Own bool `json:"own"`
	// Alt are other ranks that may have the fault instead of Rank.
	Alt []int `json:"alt"`
	// Members are the ranks that take part.
	Members []int `json:"members"`
	// Evidence gives the reason, Chinese in that language; Facts are its numbers.
	Evidence lang.Sentence `json:"evidence"`
	Chinese  string        `json:"evidence_zh"`
	Facts    finding.Facts `json:"facts"`
	// Module is the module around a communication, Script the line of the user's script.
	Module string `json:"module,omitempty"`
	Script string `json:"script,omitempty"`
	// Spread is the damage that may follow; only the first findings have it.
	Spread *Spread `json:"spread,omitempty"`

	// Consistent: recomputation from its inputs confirms the operator, although it differs from the
	// reference. Such findings come last.
	Consistent bool `json:"-"`

	call    *trace.Call
	refuted bool // another finding contradicts it
}

// Weight is the name of the finding's weight in --fail-on: weak for low confidence.
func (f *Finding) Weight() string {
	if f.Confidence == low {
		return "weak"
	}
	return "wrong"
}

// Advice says what to do about the finding, empty for nothing. A group of one rank copies within the memory of its
// device, without a link.
func (f *Finding) Advice() lang.Text {
	if f.Kind == Corrupt && len(f.Members) == 1 {
		return lang.Text{EN: "a group of one rank uses no link: look for a buffer that is read or written before the copy ends, and check the memory of this device"}
	}
	return MeaningOf(f.Kind).Advice
}

// Headline names the fault and the rank in one line.
func (f *Finding) Headline() lang.Sentence {
	word := lang.Text{EN: "WRONG"}
	if f.Weight() == "weak" {
		word = lang.Text{EN: "SUSPECT"}
	}
	return lang.Say("%s: %s", word, f.Sentence())
}

// Sentence names the rank, the fault, the operator and the step.
func (f *Finding) Sentence() lang.Sentence {
	module := ""
	if f.Module != "" {
		module = " (" + f.Module + ")"
	}
	who := trace.RankText(append([]int{f.Rank}, f.Alt...))
	if len(f.Alt) > 0 {
		who = lang.Say("one of %s", who).Text()
	}
	where := lang.Say("%s %s: %s%s", who, MeaningOf(f.Kind).Short, f.Op, module)
	if f.Step == "" {
		return where
	}
	return lang.Say("%s, step %s", where, f.Step)
}

// Spread is the damage that may follow from a finding.
type Spread struct {
	// Ranks and Steps are the ranks and steps with damaged calls, Tensors counts the outputs of these calls.
	Ranks   []int    `json:"ranks"`
	Steps   []string `json:"steps"`
	Tensors int      `json:"tensors"`
}

// Note is a harmless oddity.
type Note struct {
	// Kind is the oddity, Step and Op its first place.
	Kind Kind   `json:"kind"`
	Step string `json:"step"`
	Op   string `json:"op"`
	// Ranks have the oddity.
	Ranks []int `json:"ranks"`
	// Count is the number of occurrences.
	Count int `json:"count"`

	step int // index in the run
}

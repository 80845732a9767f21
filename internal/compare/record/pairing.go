package record

import (
	"dumptool/internal/lang"
	"dumptool/internal/sidefile"
)

// Listed is what the listing of both runs says, whichever of their rounds are compared.
type Listed struct {
	// Ref and NPU are the rounds of each side that were chosen.
	Ref []ListedRound `json:"ref"`
	NPU []ListedRound `json:"npu"`
	// Inputs is set where inputs are compared.
	Inputs bool `json:"inputs,omitempty"`
	// Others are rounds of the NPU that were not asked for, by their keys in a baseline.
	Others []string `json:"others,omitempty"`
	// Warnings are about the runs, OfOptions about the options.
	Warnings  []lang.Sentence `json:"warnings,omitempty"`
	OfOptions []lang.Sentence `json:"of_options,omitempty"`
	// Kept are lines of the logs of an import, which reports write again.
	Kept []sidefile.SkipLine `json:"kept,omitempty"`
}

// ListedRound is a round of a side.
type ListedRound struct {
	At
	// Folder is what is left of the path where no coordinate tells rounds apart.
	Folder string `json:"folder,omitempty"`
	// Outputs is the number of tensors that a comparison of the whole round would have
	// compared.
	Outputs int `json:"outputs,omitempty"`
	// Paired is set where the other side has such a round.
	Paired bool `json:"paired,omitempty"`
}

// Pairing is what is known of a round before its tensors are compared.
type Pairing struct {
	// Place is that among all rounds that were paired, whichever were compared, and Key
	// the round in a baseline.
	Place int    `json:"place"`
	Key   string `json:"key,omitempty"`
	// Candidates are tensors of the reference that stand behind ambiguous rows, Superseded
	// earlier executions, Unmatched the names of operators that were asked for and match
	// none.
	Candidates []string `json:"candidates,omitempty"`
	Superseded []string `json:"superseded,omitempty"`
	Unmatched  []string `json:"unmatched,omitempty"`
	// Rejected say why sources of the order and of the data flow are not used, Nothing what
	// to say where no tensor has a partner.
	Rejected []lang.Sentence `json:"rejected,omitempty"`
	Nothing  []lang.Sentence `json:"nothing,omitempty"`
	// Differ counts arguments that are no tensors and differ; FirstDiffer says which.
	Differ      int           `json:"differ,omitempty"`
	FirstDiffer lang.Sentence `json:"first_differ,omitzero"`
	// Flow is what the operators read, nil where nobody knows.
	Flow Flow `json:"flow,omitempty"`
}

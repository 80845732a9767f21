package filename

import (
	"dumptool/internal/lang"
	"dumptool/internal/tensor"
)

// atbTensor is the form of the names of tensors of the Ascend Transformer Boost
// library; folders name the operator.
var atbTensor = lang.Pattern(`(?s)^(in|out)tensor([0-9]+)(?:_.+)?$`)

func parseATB(stem, _ string) (Info, bool) {
	m := atbTensor().FindStringSubmatch(stem)
	if m == nil {
		return Info{}, false
	}
	index, ok := parseIndex(m[2])
	kind := tensor.Output
	if m[1] == "in" {
		kind = tensor.Input
	}
	return Info{OpName: stem, Kind: kind, Index: index}, ok
}

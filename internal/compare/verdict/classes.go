package verdict

import (
	"dumptool/internal/optype"
)

// rules say what a class of operators explains, and how what it does not is judged.
type rules struct {
	// bounds are the error that comes from the inputs, of which there is one at least,
	// and that of the operator.
	bounds func(*Operator) (propagated, own float64)
	// groups sets what bounds rows and channels better than their share of all, nil
	// where nothing does.
	groups func(*Operator, *expectation)
	// limit is the score up to which rounding is assumed.
	limit float64
	// rows, channels and elements are set where parts of the tensor are held against it.
	rows, channels, elements bool
	// relative is by how much the error of an element beside its size may exceed that of
	// all, where errors grow with the elements; 0 where they do not.
	relative float64
	// amplifies is set where weights that are not known may make the error larger: only
	// a form that rounding does not have makes an origin.
	amplifies bool
	// bits is set where fewer bits than those of the type and of the inputs are a fault.
	bits bool
}

// classes are the rules by class. The limits were set on simulated networks, clean ones
// whose scores are at most 1.04 (exact classes), 1.07 (norms), 0.66 (products of elements)
// and 1.18 (products of matrices), and ones with faults.
var classes = [...]rules{
	optype.Unknown:        {bounds: (*Operator).unknown, groups: (*Operator).unknownGroups, limit: unknownLimit, rows: true, channels: true, elements: true, relative: 8, amplifies: true, bits: true},
	optype.Move:           {bounds: (*Operator).moved, limit: exactLimit},
	optype.Lipschitz:      {bounds: (*Operator).lipschitz, groups: (*Operator).lipschitzGroups, limit: exactLimit},
	optype.Dequantise:     {bounds: (*Operator).dequantised, limit: exactLimit, rows: true, channels: true, elements: true},
	optype.Multiply:       {bounds: (*Operator).product, groups: (*Operator).productGroups, limit: normLimit, rows: true, channels: true, elements: true, relative: 3},
	optype.Divide:         {bounds: (*Operator).divided, groups: (*Operator).proportionalRows, limit: normLimit, rows: true, channels: true, elements: true, relative: 3},
	optype.Exponential:    {bounds: (*Operator).exponential, groups: (*Operator).proportionalRows, limit: normLimit, rows: true, elements: true, relative: 3},
	optype.Normalise:      {bounds: (*Operator).normalised, groups: (*Operator).normalisedGroups, limit: normLimit, rows: true, channels: true, elements: true, bits: true},
	optype.BatchNormalise: {bounds: (*Operator).batchNormalised, groups: (*Operator).batchNormalisedGroups, limit: normLimit, channels: true, elements: true, bits: true},
	optype.Linear:         {bounds: (*Operator).summed, groups: (*Operator).linearGroups, limit: linearLimit, rows: true, channels: true, elements: true, amplifies: true, bits: true},
	optype.Reduce:         {bounds: (*Operator).reduced, limit: normLimit, channels: true, elements: true},
	optype.Quantise:       {bounds: (*Operator).quantised, limit: linearLimit, rows: true, channels: true, elements: true},
	optype.Gated:          {bounds: (*Operator).gated, limit: normLimit},
	optype.Index:          {bounds: (*Operator).quantised, limit: linearLimit},
}

package record

// Source is a tensor that an operator reads.
type Source struct {
	Op     string `json:"op"`     // the operator that makes it
	Output int    `json:"output"` // which output of it, -1 if that is not known
}

// Flow is what operators read, by their name. An operator with an empty list is
// known to have no inputs; of one that is not in it nothing is known.
type Flow map[string][]Source

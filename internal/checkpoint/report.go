package checkpoint

import (
	"cmp"
	"encoding/json"
	"slices"
	"strings"

	"dumptool/internal/batch"
	"dumptool/internal/lang"
	"dumptool/internal/tensor"
)

// Schema is the schema of a Report as a document.
const Schema = "dumptool/checkpoints/1"

// Status is the result for a tensor.
type Status string

// The statuses. All but Scaled, LoRA, Different, OnlyA, OnlyB and Unread say that the elements are the same, after at
// most one rounding. Different comes first in reports.
const (
	Different  Status = "DIFFERENT"
	OnlyA      Status = "ONLY_A"
	OnlyB      Status = "ONLY_B"
	Unread     Status = "UNREAD"
	Scaled     Status = "SCALED"
	LoRA       Status = "LORA"    // one side is the other one with an adapter
	Unknown    Status = "UNKNOWN" // the same content more than once, under names that do not say which is which
	Padded     Status = "PADDED"  // one side has more rows or columns, which are zeros or copies
	Fused      Status = "FUSED"   // a part of one tensor of B
	Split      Status = "SPLIT"   // parts of several tensors of B
	Reordered  Status = "REORDERED"
	Transposed Status = "TRANSPOSED"
	Rounded    Status = "ROUNDED"
	Equal      Status = "EQUAL"
)

// Statuses returns all statuses, in the order of reports.
func Statuses() []Status {
	return []Status{Different, OnlyA, OnlyB, Unread, Scaled, LoRA, Unknown, Padded, Fused, Split, Reordered, Transposed, Rounded, Equal}
}

// Report compares two sets of weights, and is its document.
type Report struct {
	Schema string `json:"schema"`
	// Paths are the sides A and B.
	Paths [2]string `json:"paths"`
	// Adapter is the folder of the adapter (LoRA) of one side, empty for none.
	Adapter string `json:"adapter,omitempty"`
	// Headline states the most important result, HeadlineZH in Chinese.
	Headline   lang.Sentence `json:"headline"`
	HeadlineZH string        `json:"headline_zh"`
	// Counts are the rows by their status.
	Counts map[Status]int `json:"counts"`
	// Rows are the tensors of A in the order of its files, then the tensors of B without a counterpart on A.
	Rows []Row `json:"rows"`
	// Problems are the files and tensors that could not be read.
	Problems []Problem `json:"problems"`
	// All: reports for people list every row.
	All bool `json:"-"`

	allowed []Status
}

// Row says where a tensor of A is on side B.
type Row struct {
	// Status is DIFFERENT, ONLY_A, ONLY_B, UNREAD, SCALED, LORA, UNKNOWN, PADDED, FUSED, SPLIT, REORDERED, TRANSPOSED,
	// ROUNDED or EQUAL.
	Status Status `json:"status"`
	// Layout is the status that a DIFFERENT tensor would have with equal elements, empty for none.
	Layout Status `json:"layout,omitempty"`
	// A is the tensor of A, empty for ONLY_B. B are the tensors of B that hold its elements.
	A string   `json:"a"`
	B []string `json:"b"`
	// Shape, DType and Elements describe the tensor of A, or of B for ONLY_B.
	Shape    tensor.Shape `json:"shape"`
	DType    tensor.DType `json:"dtype"`
	Elements int64        `json:"elements"`
	// Transposed: the rows of A are columns of B.
	Transposed bool `json:"transposed"`
	// Rounded: elements are equal only after one rounding.
	Rounded bool `json:"rounded"`
	// How names the rows or columns of B that hold the tensor, HowZH in Chinese.
	How   lang.Sentence `json:"how,omitzero"`
	HowZH string        `json:"how_zh,omitempty"`
	// Differing is the number of elements that differ, First the first differing element.
	Differing int64    `json:"differing"`
	First     *Element `json:"first"`
	// Factor is B divided by A for SCALED.
	Factor *tensor.Number `json:"factor,omitempty"`

	problem *Problem      // of UNREAD, unless its side has it
	change  *weightChange // of the adapter
}

// Element is an element of A, by its coordinates there, with the values of both sides.
type Element struct {
	// Index are the coordinates, A and B the values.
	Index []int64       `json:"index"`
	A     tensor.Number `json:"a"`
	B     tensor.Number `json:"b"`
}

// Name is the tensor of A, or of B for ONLY_B.
func (r *Row) Name() string { return cmp.Or(r.A, strings.Join(r.B, ", ")) }

// Problem is a file or a tensor that could not be read.
type Problem struct {
	// File is the file, Tensor the tensor in it, empty for the whole file. Reason says why, ReasonZH in Chinese.
	File     string        `json:"file"`
	Tensor   string        `json:"tensor,omitempty"`
	Reason   lang.Sentence `json:"reason"`
	ReasonZH string        `json:"reason_zh"`
}

// Text is the reason, behind the name of a tensor.
func (p *Problem) Text() lang.Sentence {
	if p.Tensor == "" {
		return p.Reason
	}
	return lang.Say("%s: %s", p.Tensor, p.Reason)
}

// isBad reports whether a status means that the models are not the same.
func (r *Report) isBad(s Status) bool {
	return slices.Contains([]Status{Different, OnlyA, OnlyB, Scaled, LoRA}, s) && !slices.Contains(r.allowed, s)
}

// conclude adds the rows of B, and counts all rows.
func (r *Report) conclude(onlyB []Row) {
	r.Rows = append(r.Rows, onlyB...)
	r.Counts = map[Status]int{}
	for i := range r.Rows {
		r.Counts[r.Rows[i].Status]++
		if how := r.Rows[i].How; !how.IsZero() {
			r.Rows[i].HowZH = how.Text().Chinese()
		}
		if p := r.Rows[i].problem; p != nil {
			r.Problems = append(r.Problems, *p)
		}
	}
	for i := range r.Problems {
		r.Problems[i].ReasonZH = r.Problems[i].Reason.Text().Chinese()
	}
	r.Headline = r.headline()
	r.HeadlineZH = r.Headline.Text().Chinese()
	if r.Problems == nil {
		r.Problems = []Problem{}
	}
}

func (r *Report) headline() lang.Sentence {
	bad := 0
	var first *Row
	for i := range r.Rows {
		if r.isBad(r.Rows[i].Status) {
			if bad++; first == nil || r.Rows[i].Status == Different && first.Status != Different {
				first = &r.Rows[i]
			}
		}
	}
	var counts []string
	for _, s := range Statuses() {
		if n := r.Counts[s]; n > 0 && s != Different {
			counts = append(counts, lang.Say("%d %s", n, s).String())
		}
	}
	rest := strings.Join(counts, ", ")
	switch {
	case r.hasNoPartners():
		return lang.Say("NOTHING ALIKE: no tensor of %s has the elements or the name of a tensor of %s", r.Paths[0], r.Paths[1])
	case first == nil && len(r.Problems) > 0:
		return lang.Say("NOT COMPARED: %d files or tensors of the two sides could not be read; otherwise %s", len(r.Problems), rest)
	case first == nil:
		return lang.Say("EQUAL: %s: %s", lang.CountText(len(r.Rows), "tensor"), rest)
	case first.Status == Different:
		return lang.Say("DIFFERENT: %d of %s; first %s (%d of %d elements); %s", bad, lang.CountText(len(r.Rows), "tensor"), first.Name(), first.Differing, first.Elements, rest)
	}
	return lang.Say("DIFFERENT: %d of %s; first %s (%s); %s", bad, lang.CountText(len(r.Rows), "tensor"), first.Name(), first.Status, rest)
}

// hasNoPartners reports whether no tensor has a partner.
func (r *Report) hasNoPartners() bool {
	return r.Counts[OnlyA]+r.Counts[OnlyB]+r.Counts[Unread] == len(r.Rows)
}

// Outcome returns the outcome: something unread, nothing alike, different, equal.
func (r *Report) Outcome(exitZero bool) batch.Outcome {
	bad := 0
	for s, n := range r.Counts {
		if r.isBad(s) {
			bad += n
		}
	}
	switch {
	case len(r.Problems) > 0:
		return batch.Outcomef(batch.Incomplete, "%d files or tensors of the two sides could not be read", len(r.Problems))
	case r.hasNoPartners():
		return batch.Outcomef(batch.Nothing, "nothing is alike").AsShown()
	case bad > 0 && !exitZero:
		return batch.Outcomef(batch.Found, "%d tensors differ", bad).AsShown()
	}
	return batch.Outcome{}
}

// Map returns the pairs of tensors as a name map for --map-node-dict, by the names of their modules (names without the
// last part).
func (r *Report) Map() []byte {
	names := map[string]string{}
	for i := range r.Rows {
		if row := &r.Rows[i]; len(row.B) == 1 && slices.Contains([]Status{Equal, Rounded, Transposed, Reordered, Padded}, row.Status) {
			if a, b := moduleOf(row.A), moduleOf(row.B[0]); a != "" && b != "" && a != b {
				names[a] = b
			}
		}
	}
	text, _ := json.MarshalIndent(names, "", "  ") // texts always have a form
	return append(text, '\n')
}

// run is a number of lines that follow each other on both sides.
type run struct {
	line
	first, length int64
}

// runs divides lines into runs. Lines of B may follow each other in steps of more than one.
func (f *lineMatch) runs() (all []run) {
	for i, l := range f.lines {
		if l.weight < 0 {
			continue
		}
		if n := len(all); n > 0 {
			if r := &all[n-1]; r.weight == l.weight && r.at+r.length == l.at && r.first+r.length == int64(i) {
				r.length++
				continue
			}
		}
		all = append(all, run{l, int64(i), 1})
	}
	return all
}

// isOrdered reports whether the lines lie on one weight in their order, without gaps.
func (f *lineMatch) isOrdered() bool { return len(f.runs()) == 1 }

// describe names the lines of B that hold the lines of A.
func (f *lineMatch) describe() lang.Sentence {
	all := f.runs()
	first := all[0]
	isEven := true
	for i := 1; i < len(all); i++ {
		isEven = isEven && all[i].length == first.length && all[i].weight == first.weight && all[i].at-all[i-1].at == all[1].at-first.at
	}
	group, parts := f.interleaving()
	switch {
	case group > 0:
		return lang.Say("%d parts interleaved, in groups of %d %s", parts, group, f.on)
	case isEven && len(all) > 1:
		return lang.Say("blocks of %d %s, every %d from %d on", first.length, f.on, all[1].at-first.at, first.at)
	case len(all) > 1:
		return lang.Say("%d blocks of %s, first %d to %d", len(all), f.on, first.at, first.at+first.length-1)
	}
	return lang.Say("%s %d to %d", f.on, first.at, first.at+first.length-1)
}

// interleaving finds an order in which every group of lines has its parts interleaved: line k of part p of a group is
// its line k*parts+p on B. group is 0 for another order.
func (f *lineMatch) interleaving() (group, parts int) {
	n := len(f.lines)
	for group = 4; group <= n; group++ {
		for parts = 2; n%group == 0 && parts <= group/2; parts++ {
			if group%parts == 0 && f.isInterleaved(group, parts) {
				return group, parts
			}
		}
	}
	return 0, 0
}

func (f *lineMatch) isInterleaved(group, parts int) bool {
	size := group / parts
	for i, l := range f.lines {
		of, part, k := i/group, i%group/size, i%size
		if l.weight != f.lines[0].weight || l.at != int64(of*group+k*parts+part) {
			return false
		}
	}
	return true
}

func moduleOf(name string) string { return name[:max(0, strings.LastIndexByte(name, '.'))] }

func lastPart(name string) string { return name[strings.LastIndexByte(name, '.')+1:] }

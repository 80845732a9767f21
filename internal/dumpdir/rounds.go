package dumpdir

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"dumptool/internal/lang"
)

// Choice is the values of a coordinate that are wanted; the zero value wants all.
type Choice struct {
	steps []lang.Step
	names []string
}

// ParseNumbers parses a list of numbers and ranges such as 0|3-5|10; an empty text
// wants all.
func ParseNumbers(text string) (Choice, error) {
	if text == "" {
		return Choice{}, nil
	}
	c := Choice{steps: lang.ParseSteps(text)}
	for _, s := range c.steps {
		if !s.Valid() {
			return Choice{}, lang.Errorf("%.40q in %.80q is neither a number nor a range of numbers, want a list such as 0|3-5|10", s.Text, text)
		}
	}
	return c, nil
}

// ParseNames parses a list of names with | between them; an empty text wants all.
func ParseNames(text string) (Choice, error) {
	if text == "" {
		return Choice{}, nil
	}
	c := Choice{names: strings.Split(text, "|")}
	if slices.Contains(c.names, "") {
		return Choice{}, lang.Errorf("%.80q has an empty name, want names with | between them", text)
	}
	return c, nil
}

// all reports whether a choice leaves nothing out.
func (c *Choice) all() bool { return c.steps == nil && c.names == nil }

// wants reports whether the value of a coordinate is wanted. One that is not known
// is: it may be any.
func (c *Choice) wants(value string) bool {
	if value == "" || c.all() || slices.Contains(c.names, value) {
		return true
	}
	n, ok := parseNumber(value)
	return ok && slices.ContainsFunc(c.steps, func(s lang.Step) bool { return s.From <= n && n <= s.To })
}

// Selection chooses rounds; the zero value chooses all.
type Selection struct {
	Rank, Step, Graph, Model Choice
}

// Wants reports whether a selection chooses a round.
func (s *Selection) Wants(at Coordinates) bool {
	return s.Rank.wants(at.Rank) && s.Step.wants(at.Step) && s.Graph.wants(at.Graph) && s.Model.wants(at.Model)
}

// knownCoordinates are the coordinates that a run says anything about.
type knownCoordinates [len(coordinates)]bool

// findKnown finds the coordinates that any round, record or folder has. Of a run
// without tensors and records nothing is asked.
func (r *Run) findKnown() {
	found := len(r.Rounds)+len(r.Records) > 0
	for i, c := range coordinates {
		r.known[i] = !found || slices.ContainsFunc(r.Rounds, func(x *Round) bool { return *c.of(&x.At) != "" }) ||
			slices.ContainsFunc(r.Records, func(x Record) bool { return *c.of(&x.At) != "" }) ||
			slices.ContainsFunc(r.folders, func(x *Folder) bool { return *c.of(&x.At) != "" })
	}
}

// Chosen is a run and the selection of its rounds.
type Chosen struct {
	Run *Run
	By  Selection
}

// ChoiceWarnings warn of coordinates that runs which belong together are chosen by
// and none of them knows: every round is taken then, since it may be any.
func ChoiceWarnings(all ...Chosen) []lang.Sentence {
	var warnings []lang.Sentence
	for i, c := range coordinates {
		chosen, known := false, false
		for _, one := range all {
			if c.choice != nil && !c.choice(&one.By).all() {
				chosen, known = true, known || one.Run.known[i]
			}
		}
		if chosen && !known {
			warnings = append(warnings, lang.Sayf("no round has a %s: --%[1]s leaves out nothing", "没有轮次带有 %s：--%[1]s 未排除任何轮次", c.name))
		}
	}
	return warnings
}

// Select returns the rounds of a run that a selection chooses.
func (r *Run) Select(s Selection) []*Round {
	return slices.DeleteFunc(slices.Clone(r.Rounds), func(round *Round) bool { return !s.Wants(round.At) })
}

// Choose leaves of a run only the rounds and operators that are chosen, their files,
// and what is wrong with them. A file of no operator, such as an overflow record, is
// chosen by its folder, and only if all operators are. Names of operators stand in
// headers too: Choose reads them if ops is not nil, as opt says.
func (r *Run) Choose(ctx context.Context, s Selection, ops *NameSet, opt HeaderOptions) error {
	if ops != nil {
		if err := r.ReadHeaders(ctx, opt); err != nil {
			return err
		}
	}
	chosen := make(map[*File]bool)
	for _, round := range r.Rounds {
		for _, op := range round.Ops {
			wanted := s.Wants(round.At) && ops.Wants(op)
			for i := range op.Tensors {
				f := op.Tensors[i].File
				chosen[f] = chosen[f] || wanted
			}
		}
		round.Ops = slices.DeleteFunc(round.Ops, func(op *Op) bool { return !ops.Wants(op) })
		for _, op := range round.Ops {
			ops.keep(op)
		}
	}
	total := len(r.Files)
	r.Files = slices.DeleteFunc(r.Files, func(f *File) bool {
		wanted, ofOp := chosen[f]
		if !ofOp {
			wanted = ops == nil && s.Wants(f.Folder.At)
		}
		return !wanted
	})
	r.NotChosen += total - len(r.Files)
	r.Rounds = slices.DeleteFunc(r.Rounds, func(round *Round) bool { return !s.Wants(round.At) || len(round.Ops) == 0 })
	r.Records = slices.DeleteFunc(r.Records, func(x Record) bool { return ops != nil || !s.Wants(x.At) })
	r.Problems = slices.DeleteFunc(r.Problems, func(p Problem) bool { return !s.Wants(p.At) })
	return nil
}

// FileSizes are the files of the tensors of the round with their sizes, by their paths.
func (r *Round) FileSizes() map[string]int64 {
	files := make(map[string]int64)
	for _, op := range r.Ops {
		for i := range op.Tensors {
			files[op.Tensors[i].File.Path()] = op.Tensors[i].File.Size
		}
	}
	return files
}

// RoundPairs says which rounds of two runs belong together.
type RoundPairs struct {
	// Pairs are sorted by the coordinates of the NPU's round, then of the
	// reference's.
	Pairs []RoundPair
	// Ref and NPU are the rounds without a partner.
	Ref, NPU []*Round
	// Notes say which coordinates only one side knows, where it has several.
	Notes []string
}

// RoundPair is two rounds that are compared.
type RoundPair struct {
	Ref, NPU *Round
	// At is the NPU's coordinates, and the reference's where the NPU has none.
	At Coordinates
	// Notes say which coordinates differ.
	Notes []string
}

// PairRounds pairs the rounds of two runs that have equal coordinates. A coordinate
// that one side does not know at all is no obstacle: every round of the other side
// has the same partner. Nor is one of which the reference has a single value, or
// of which the NPU has a single value that the reference has not; such pairs have
// a note where the values differ. All other rounds have no partner.
func PairRounds(ref, npu []*Round) *RoundPairs {
	p := &RoundPairs{}
	var matchers [len(coordinates)]matcher
	for i, c := range coordinates {
		m := matcher{ref: valuesOf(ref, c.of), npu: valuesOf(npu, c.of)}
		m.shared = slices.ContainsFunc(m.npu, func(v string) bool { return slices.Contains(m.ref, v) })
		matchers[i] = m
		if note := matchers[i].note(c.name); note != "" {
			p.Notes = append(p.Notes, note)
		}
	}
	paired := make(map[*Round]bool)
	for _, n := range npu {
		for _, r := range ref {
			if pair, ok := pairRounds(r, n, matchers[:]); ok {
				p.Pairs = append(p.Pairs, pair)
				paired[r], paired[n] = true, true
			}
		}
	}
	slices.SortStableFunc(p.Pairs, func(a, b RoundPair) int {
		return cmp.Or(a.NPU.At.Compare(b.NPU.At), a.Ref.At.Compare(b.Ref.At))
	})
	isPaired := func(r *Round) bool { return paired[r] }
	p.Ref, p.NPU = slices.DeleteFunc(slices.Clone(ref), isPaired), slices.DeleteFunc(slices.Clone(npu), isPaired)
	return p
}

// DropDiffering drops the pairs of rounds with coordinates that differ where either
// round has a partner with the same ones.
func (p *RoundPairs) DropDiffering() {
	same := make(map[*Round]bool)
	for i := range p.Pairs {
		if x := &p.Pairs[i]; len(x.Notes) == 0 {
			same[x.Ref], same[x.NPU] = true, true
		}
	}
	var dropped []RoundPair
	paired := make(map[*Round]bool)
	p.Pairs = slices.DeleteFunc(p.Pairs, func(x RoundPair) bool {
		if len(x.Notes) > 0 && (same[x.Ref] || same[x.NPU]) {
			dropped = append(dropped, x)
			return true
		}
		paired[x.Ref], paired[x.NPU] = true, true
		return false
	})
	alone := func(rounds []*Round, r *Round) []*Round {
		if paired[r] {
			return rounds
		}
		paired[r] = true
		return append(rounds, r)
	}
	for _, x := range dropped {
		p.Ref, p.NPU = alone(p.Ref, x.Ref), alone(p.NPU, x.NPU)
	}
	byCoordinates := func(a, b *Round) int { return a.At.Compare(b.At) }
	slices.SortStableFunc(p.Ref, byCoordinates)
	slices.SortStableFunc(p.NPU, byCoordinates)
}

// pairRounds pairs two rounds, false where a coordinate keeps them apart.
func pairRounds(ref, npu *Round, matchers []matcher) (RoundPair, bool) {
	pair := RoundPair{Ref: ref, NPU: npu, At: npu.At}
	for i, c := range coordinates {
		r, n := *c.of(&ref.At), *c.of(&npu.At)
		if !matchers[i].match(r, n) {
			return RoundPair{}, false
		}
		if n == "" {
			*c.of(&pair.At) = r
		}
		if r != n && r != "" && n != "" {
			pair.Notes = append(pair.Notes, fmt.Sprintf("%s %s is compared with %s %s of the reference", c.name, n, c.name, r))
		}
	}
	return pair, true
}

// matcher says which values of a coordinate may be compared.
type matcher struct {
	ref, npu []string // the known values
	shared   bool     // is any of them on both sides?
}

// valuesOf returns the known values of a coordinate, each once.
func valuesOf(rounds []*Round, of func(*Coordinates) *string) []string {
	seen := make(map[string]bool)
	for _, r := range rounds {
		if value := *of(&r.At); value != "" {
			seen[value] = true
		}
	}
	return slices.SortedFunc(maps.Keys(seen), lang.CompareNatural)
}

func (m *matcher) match(ref, npu string) bool {
	switch {
	case ref == npu || len(m.ref) == 0 || len(m.npu) == 0:
		return true
	case ref == "" || npu == "":
		return false
	}
	return len(m.ref) == 1 || len(m.npu) == 1 && !m.shared
}

// note says that only one side knows a coordinate of which it has several values.
func (m *matcher) note(name string) string {
	switch {
	case len(m.ref) == 0 && len(m.npu) > 1:
		return fmt.Sprintf("the reference has no %s: it is compared with each of the NPU's %d", name, len(m.npu))
	case len(m.npu) == 0 && len(m.ref) > 1:
		return fmt.Sprintf("the NPU has no %s: it is compared with each of the reference's %d", name, len(m.ref))
	}
	return ""
}

// Coordinates say which round a folder or a tensor belongs to. Each is empty where
// nothing says it. Start times, process ids and hosts are no part of them, since
// they differ between two runs of one network.
type Coordinates struct {
	// Rank is the rank, else the device.
	Rank string `json:"rank,omitempty"`
	// Step is the step, iteration or count of executions.
	Step string `json:"step,omitempty"`
	// Graph is the graph id or model id.
	Graph string `json:"graph,omitempty"`
	// Model is the name of the network or model.
	Model string `json:"model,omitempty"`
	// Folder is what is left of the path where folders that no other coordinate
	// stands for hold the same tensors several times.
	Folder string `json:"folder,omitempty"`
}

// coordinates are the fields of Coordinates, in the order in which rounds are
// sorted.
var coordinates = [...]struct {
	name, zh string
	of       func(*Coordinates) *string
	choice   func(*Selection) *Choice // nil for what is not chosen by
}{
	{"rank", "rank", func(c *Coordinates) *string { return &c.Rank }, func(s *Selection) *Choice { return &s.Rank }},
	{"step", "step", func(c *Coordinates) *string { return &c.Step }, func(s *Selection) *Choice { return &s.Step }},
	{"graph", "图", func(c *Coordinates) *string { return &c.Graph }, func(s *Selection) *Choice { return &s.Graph }},
	{"model", "模型", func(c *Coordinates) *string { return &c.Model }, func(s *Selection) *Choice { return &s.Model }},
	{"folder", "目录", func(c *Coordinates) *string { return &c.Folder }, nil},
}

// Known reports whether any coordinate but the folder is known.
func (c Coordinates) Known() bool {
	return c.withoutFolder() != Coordinates{}
}

// IsZero reports whether documents leave the coordinates out.
func (c Coordinates) IsZero() bool { return !c.Known() }

func (c Coordinates) withoutFolder() Coordinates {
	c.Folder = ""
	return c
}

// String returns the coordinates that are known, such as rank 0 step 3; empty for
// none.
func (c Coordinates) String() string { return c.Text().EN }

// Text returns the coordinates that are known in both languages.
func (c Coordinates) Text() lang.Text {
	var en, zh []string
	for _, one := range coordinates {
		if value := *one.of(&c); value != "" {
			en, zh = append(en, one.name+" "+value), append(zh, one.zh+" "+value)
		}
	}
	return lang.Text{EN: strings.Join(en, " "), ZH: strings.Join(zh, " ")}
}

// ShortNames names rounds by the coordinates in which they differ, such as rank 1
// step 2; a folder is its own name. One round has an empty name.
func ShortNames(all []Coordinates) []string {
	names := make([]string, len(all))
	for _, one := range coordinates {
		differ := slices.ContainsFunc(all, func(c Coordinates) bool { return *one.of(&c) != *one.of(&all[0]) })
		for i := range all {
			switch value := *one.of(&all[i]); {
			case !differ || value == "":
			case one.name == "folder":
				names[i] += " " + value
			default:
				names[i] += " " + one.name + " " + value
			}
		}
	}
	for i := range names {
		names[i] = strings.TrimPrefix(names[i], " ")
	}
	return names
}

// Compare orders coordinates by rank, step, graph, model and folder; numbers are
// compared as such, and what is not known comes first.
func (c Coordinates) Compare(d Coordinates) int {
	for _, one := range coordinates {
		if r := lang.CompareNatural(*one.of(&c), *one.of(&d)); r != 0 {
			return r
		}
	}
	return 0
}

// parseNumber returns the number that a coordinate is.
func parseNumber(value string) (uint64, bool) {
	n, err := strconv.ParseUint(value, 10, 64)
	return n, err == nil
}

// number returns a number without leading zeros.
func number(digits string) string {
	return cmp.Or(strings.TrimLeft(digits, "0"), "0")
}

package dumpdir

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"strconv"
	"strings"

	"dumptool/internal/lang"
)

// Choice has the wanted values of a coordinate. The zero value wants all.
type Choice struct {
	steps []lang.Step
	names []string
}

// ParseNumbers parses a list of numbers and ranges such as 0,3-5,10 or 0|3-5|10; an empty text
// wants all.
func ParseNumbers(text string) (Choice, error) {
	if text == "" {
		return Choice{}, nil
	}
	c := Choice{steps: lang.ParseSteps(strings.ReplaceAll(text, ",", "|"))}
	for _, s := range c.steps {
		if !s.Valid() {
			return Choice{}, lang.Errorf("%.40q in %.80q is neither a number nor a range of numbers, want a list such as 0,3-5,10", s.Text, text)
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

// isAll reports whether all values are wanted.
func (c *Choice) isAll() bool { return c.steps == nil && c.names == nil }

// includes reports whether a value is wanted; an unknown (empty) value always is.
func (c *Choice) includes(value string) bool {
	if value == "" || c.isAll() || slices.Contains(c.names, value) {
		return true
	}
	n, ok := parseNumber(value)
	return ok && slices.ContainsFunc(c.steps, func(s lang.Step) bool { return s.From <= n && n <= s.To })
}

// Selection chooses rounds by the coordinates below; the zero value chooses all.
type Selection [4]Choice

// Indexes of a Selection, in the order of the table coordinates.
const (
	ByRank = iota
	ByStep
	ByGraph
	ByModel
)

// Includes reports whether a selection chooses a round.
func (s *Selection) Includes(at Coordinates) bool {
	for i := range s {
		if !s[i].includes(*coordinates[i].value(&at)) {
			return false
		}
	}
	return true
}

// knownCoordinates are the coordinates with a known value in a run.
type knownCoordinates [len(coordinates)]bool

// findCoordinates finds the coordinates with a value in any round, record or folder. In a run without
// tensors and records all coordinates count as known.
func (r *Run) findCoordinates() {
	found := len(r.Rounds)+len(r.Records) > 0
	for i, c := range coordinates {
		r.known[i] = !found || slices.ContainsFunc(r.Rounds, func(x *Round) bool { return *c.value(&x.At) != "" }) ||
			slices.ContainsFunc(r.Records, func(x Record) bool { return *c.value(&x.At) != "" }) ||
			slices.ContainsFunc(r.folders, func(x *Folder) bool { return *c.value(&x.At) != "" })
	}
}

// RunSelection is a run and the selection of its rounds.
type RunSelection struct {
	Run *Run
	By  Selection
}

// ChoiceWarnings warns of a selection by a coordinate, such as the rank, that no run has: it
// selects all rounds.
func ChoiceWarnings(all ...RunSelection) []lang.Sentence {
	var warnings []lang.Sentence
	for i := range (Selection{}) {
		chosen, known := false, false
		for _, one := range all {
			if !one.By[i].isAll() {
				chosen, known = true, known || one.Run.known[i]
			}
		}
		if chosen && !known {
			warnings = append(warnings, lang.Say("no round has a %s: --%[1]s excludes nothing", coordinates[i].name))
		}
	}
	return warnings
}

// Select returns the rounds that a selection chooses.
func (r *Run) Select(s Selection) []*Round {
	return slices.DeleteFunc(slices.Clone(r.Rounds), func(round *Round) bool { return !s.Includes(round.At) })
}

// Choose drops rounds and operators that are not chosen, with their files and problems. A file
// without an operator, such as an overflow record, is chosen by its folder, and only if ops is
// nil. Operators have names in headers too: Choose reads the headers if ops is not nil.
func (r *Run) Choose(ctx context.Context, s Selection, ops *NameSet, opt HeaderOptions) error {
	if ops != nil {
		if err := r.ReadHeaders(ctx, opt); err != nil {
			return err
		}
	}
	chosen := make(map[*File]bool)
	for _, round := range r.Rounds {
		for _, op := range round.Ops {
			wanted := s.Includes(round.At) && ops.Includes(op)
			for i := range op.Tensors {
				f := op.Tensors[i].File
				chosen[f] = chosen[f] || wanted
			}
		}
		round.Ops = slices.DeleteFunc(round.Ops, func(op *Op) bool { return !ops.Includes(op) })
		for _, op := range round.Ops {
			ops.dropUnwanted(op)
		}
	}
	total := len(r.Files)
	r.Files = slices.DeleteFunc(r.Files, func(f *File) bool {
		wanted, ofOp := chosen[f]
		if !ofOp {
			wanted = ops == nil && s.Includes(f.Folder.At)
		}
		return !wanted
	})
	r.NotChosen += total - len(r.Files)
	r.Rounds = slices.DeleteFunc(r.Rounds, func(round *Round) bool { return !s.Includes(round.At) || len(round.Ops) == 0 })
	r.Records = slices.DeleteFunc(r.Records, func(x Record) bool { return ops != nil || !s.Includes(x.At) })
	r.Problems = slices.DeleteFunc(r.Problems, func(p Problem) bool { return !s.Includes(p.At) })
	return nil
}

// FileSizes has the sizes of the files with tensors of the round, by path.
func (r *Round) FileSizes() map[string]int64 {
	files := make(map[string]int64)
	for _, op := range r.Ops {
		for i := range op.Tensors {
			files[op.Tensors[i].File.Path()] = op.Tensors[i].File.Size
		}
	}
	return files
}

// RoundPairs are the pairs of rounds of two runs.
type RoundPairs struct {
	// Pairs are sorted by the coordinates of the NPU, then of the reference.
	Pairs []RoundPair
	// Ref and NPU are the rounds without a partner.
	Ref, NPU []*Round
	// Notes name coordinates with several values on one side and none on the other.
	Notes []lang.Sentence
}

// RoundPair is two rounds to compare.
type RoundPair struct {
	Ref, NPU *Round
	// At has the coordinates of the NPU, and of the reference where the NPU has none.
	At Coordinates
	// Notes name the coordinates that differ.
	Notes []lang.Sentence
}

// PairRounds pairs the rounds of two runs with matching coordinates. The values of a coordinate
// match if they are equal, if one side has no value in any round, if the reference has a single
// value, or if the NPU has a single value that is not in the reference. Pairs with different
// values have a note.
func PairRounds(ref, npu []*Round) *RoundPairs {
	p := &RoundPairs{}
	var matchers [len(coordinates)]matcher
	for i, c := range coordinates {
		m := matcher{ref: knownValues(ref, c.value), npu: knownValues(npu, c.value)}
		m.shared = slices.ContainsFunc(m.npu, func(v string) bool { return slices.Contains(m.ref, v) })
		matchers[i] = m
		if note := matchers[i].coordinateNote(c.name); !note.IsZero() {
			p.Notes = append(p.Notes, note)
		}
	}
	paired := make(map[*Round]bool)
	for _, n := range npu {
		for _, r := range ref {
			if pair, ok := matchRounds(r, n, matchers[:]); ok {
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

// DropDiffering drops pairs with different coordinates if either round has a partner with equal
// ones.
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

// matchRounds pairs two rounds, false if a coordinate does not match.
func matchRounds(ref, npu *Round, matchers []matcher) (RoundPair, bool) {
	pair := RoundPair{Ref: ref, NPU: npu, At: npu.At}
	for i, c := range coordinates {
		r, n := *c.value(&ref.At), *c.value(&npu.At)
		if !matchers[i].match(r, n) {
			return RoundPair{}, false
		}
		if n == "" {
			*c.value(&pair.At) = r
		}
		if r != n && r != "" && n != "" {
			pair.Notes = append(pair.Notes, lang.Say("%s %s is compared with %s %s of the reference", lang.Say(c.name), n, lang.Say(c.name), r))
		}
	}
	return pair, true
}

// matcher matches the values of a coordinate.
type matcher struct {
	ref, npu []string // the known values
	shared   bool     // a value is on both sides
}

// knownValues returns the known values of a coordinate, each once.
func knownValues(rounds []*Round, get func(*Coordinates) *string) []string {
	seen := make(map[string]bool)
	for _, r := range rounds {
		if value := *get(&r.At); value != "" {
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

// coordinateNote is the note about a coordinate with several values on one side and none on the other.
func (m *matcher) coordinateNote(name string) lang.Sentence {
	switch {
	case len(m.ref) == 0 && len(m.npu) > 1:
		return lang.Say("the reference has no %s: it is compared with each %[1]s of the NPU (%[2]d)", lang.Say(name), len(m.npu))
	case len(m.npu) == 0 && len(m.ref) > 1:
		return lang.Say("the NPU has no %s: it is compared with each %[1]s of the reference (%[2]d)", lang.Say(name), len(m.ref))
	}
	return lang.Sentence{}
}

// Coordinates identify the round of a folder or a tensor. Unknown ones are empty. Start times,
// process ids and hosts are not included, since they differ between two runs of one network.
type Coordinates struct {
	// Rank is the rank, else the device.
	Rank string `json:"rank,omitempty"`
	// Step is the step, iteration or count of executions.
	Step string `json:"step,omitempty"`
	// Graph is the graph id or model id.
	Graph string `json:"graph,omitempty"`
	// Model is the name of the network or model.
	Model string `json:"model,omitempty"`
	// Folder is the rest of the path, without the folders of the other coordinates. It is empty
	// unless several such folders hold the same tensors.
	Folder string `json:"folder,omitempty"`
}

// coordinates are the fields of Coordinates, in the sort order of rounds.
var coordinates = [...]struct {
	name  string
	value func(*Coordinates) *string
}{
	{"rank", func(c *Coordinates) *string { return &c.Rank }},
	{"step", func(c *Coordinates) *string { return &c.Step }},
	{"graph", func(c *Coordinates) *string { return &c.Graph }},
	{"model", func(c *Coordinates) *string { return &c.Model }},
	{"folder", func(c *Coordinates) *string { return &c.Folder }},
}

// IsKnown reports whether a coordinate other than the folder is known.
func (c Coordinates) IsKnown() bool {
	return c.withoutFolder() != Coordinates{}
}

// IsZero reports whether JSON leaves the coordinates out.
func (c Coordinates) IsZero() bool { return !c.IsKnown() }

func (c Coordinates) withoutFolder() Coordinates {
	c.Folder = ""
	return c
}

// programCoordinates returns the coordinates that all ranks and steps of a program share, without
// its folder.
func (c Coordinates) programCoordinates() Coordinates {
	c.Rank, c.Step, c.Folder = "", "", ""
	return c
}

// String returns the known coordinates, such as rank 0 step 3; empty for none.
func (c Coordinates) String() string { return c.Text().String() }

// Text returns the known coordinates in both languages.
func (c Coordinates) Text() lang.Text {
	var all []lang.Sentence
	for _, one := range coordinates {
		if value := *one.value(&c); value != "" {
			all = append(all, lang.Say("%s %s", lang.Text{EN: one.name}, value))
		}
	}
	return lang.Join(all, lang.Text{EN: " "}).Text()
}

// Name returns the known coordinates, or a text for a round that has none.
func (c Coordinates) Name() lang.Text {
	return cmp.Or(c.Text(), lang.Say("the round without rank and step").Text())
}

// ShortNames names rounds by the coordinates that differ among them, such as rank 1 step 2. A
// folder stands without a word before it. The name of a single round is empty.
func ShortNames(all []Coordinates) []string {
	names := make([]string, len(all))
	for _, one := range coordinates {
		differ := slices.ContainsFunc(all, func(c Coordinates) bool { return *one.value(&c) != *one.value(&all[0]) })
		for i := range all {
			switch value := *one.value(&all[i]); {
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

// Compare orders coordinates by rank, step, graph, model and folder, with numbers as numbers and
// unknown values first.
func (c Coordinates) Compare(d Coordinates) int {
	for _, one := range coordinates {
		if r := lang.CompareNatural(*one.value(&c), *one.value(&d)); r != 0 {
			return r
		}
	}
	return 0
}

// parseNumber parses a coordinate as a number.
func parseNumber(value string) (uint64, bool) {
	n, err := strconv.ParseUint(value, 10, 64)
	return n, err == nil
}

// trimZeros removes leading zeros.
func trimZeros(digits string) string {
	return cmp.Or(strings.TrimLeft(digits, "0"), "0")
}

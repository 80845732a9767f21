package compare

import (
	"fmt"
	"slices"
	"strings"

	"dumptool/internal/compare/pair"
	"dumptool/internal/compare/record"
	"dumptool/internal/dumpdir"
	"dumptool/internal/graph"
	"dumptool/internal/lang"
	"dumptool/internal/tensor"
)

// plannedRound is a pair of rounds that is compared.
type plannedRound struct {
	record.Round
	// key is the round in a baseline, where it has to be the same whichever rounds
	// are compared.
	key  string
	pair dumpdir.RoundPair
	// calls are those of two rounds of msprobe, nil for others.
	calls *pair.Calls
	// graph says who feeds whom, nil where nobody knows.
	graph *graph.Graph
}

// pairRounds pairs the rounds of both sides.
func (p *Plan) pairRounds() {
	paired := dumpdir.PairRounds(p.ref.rounds, p.npu.rounds)
	if p.opt.Pair.SameRounds {
		paired.DropDiffering()
	}
	p.Warnings = append(p.Warnings, lang.Plains(paired.Notes)...)
	p.RefRounds, p.NPURounds = paired.Ref, paired.NPU
	if p.opt.Pair.Ops == nil {
		p.Coverage.Reference = p.ref.outputsIn(paired.Ref)
	}
	var chosen []dumpdir.RoundPair
	wanted, all := p.opt.Pair.Rounds.wanted(paired.Pairs), roundNames(paired.Pairs)
	for i, x := range paired.Pairs {
		if wanted == nil || x.NPU == wanted {
			chosen = append(chosen, x)
			continue
		}
		p.OtherRounds, p.otherRounds = append(p.OtherRounds, all[i]), append(p.otherRounds, x.NPU)
	}
	keys, names := p.npu.roundKeys(), roundNames(chosen)
	for i, x := range chosen {
		p.rounds = append(p.rounds, &plannedRound{key: keys[x.NPU], pair: x, Round: record.Round{
			Name: names[i], At: at(x.At), RefAt: at(x.Ref.At), Notes: x.Notes, Findings: record.NoFindings()}})
	}
}

// roundKeys are the rounds of a run as a baseline has them: their short names among
// all rounds of the run, whichever of them are compared.
func (s *Side) roundKeys() map[*dumpdir.Round]string {
	all := make([]dumpdir.Coordinates, len(s.run.Rounds))
	for i, round := range s.run.Rounds {
		all[i] = round.At
	}
	keys := make(map[*dumpdir.Round]string, len(all))
	for i, name := range dumpdir.ShortNames(all) {
		keys[s.run.Rounds[i]] = name
	}
	return keys
}

// leaveOut lists rounds that have no partner.
func (p *Plan) leaveOut(rounds []*dumpdir.Round, s *Side, side lang.Text, other string) {
	for _, round := range rounds {
		p.Coverage.Rounds = append(p.Coverage.Rounds, fmt.Sprintf("%s of the %s: %s has no such round", roundText(round.At), side.EN, other))
	}
	if len(rounds) > 0 {
		p.Warnings = append(p.Warnings, lang.Sayf("%d of %s of the %s have no partner: %s", "%[3]s有 %[1]d/%[2]s没有对应：%[4]s",
			len(rounds), lang.Text{EN: lang.Count(len(s.rounds), "round"), ZH: fmt.Sprintf("%d 个轮次", len(s.rounds))}, side, roundTexts(rounds)))
	}
}

// outputsIn counts the outputs of rounds.
func (s *Side) outputsIn(rounds []*dumpdir.Round) int {
	n := 0
	for i := range s.named {
		if s.named[i].Kind == tensor.Output && slices.Contains(rounds, s.of[i]) {
			n++
		}
	}
	return n
}

// at are the coordinates as records have them.
func at(c dumpdir.Coordinates) record.At {
	return record.At{Rank: c.Rank, Step: c.Step, Graph: c.Graph, Model: c.Model}
}

// roundText names a round by all that is known of it.
func roundText(c dumpdir.Coordinates) string {
	if text := c.String(); text != "" {
		return text
	}
	return "the round without coordinates"
}

// roundsShown is how many rounds a message names.
const roundsShown = 3

func roundTexts(rounds []*dumpdir.Round) string {
	var texts []string
	for _, round := range rounds[:min(len(rounds), roundsShown)] {
		texts = append(texts, roundText(round.At))
	}
	if more := len(rounds) - len(texts); more > 0 {
		texts = append(texts, fmt.Sprintf("and %d more", more))
	}
	return strings.Join(texts, ", ")
}

// wanted is the round of the NPU that is chosen, nil for all.
func (r Rounds) wanted(pairs []dumpdir.RoundPair) *dumpdir.Round {
	if r == (Rounds{}) {
		return nil
	}
	var rounds []*dumpdir.Round
	for i := range pairs {
		if !slices.Contains(rounds, pairs[i].NPU) {
			rounds = append(rounds, pairs[i].NPU)
		}
	}
	i := 0
	switch {
	case r.Last:
		i = len(rounds) - 1
	case r.Number != nil:
		i = *r.Number
	}
	if i < 0 || i >= len(rounds) {
		return new(dumpdir.Round) // that no pair has
	}
	return rounds[i]
}

// roundNames are the short names of pairs of rounds.
func roundNames(pairs []dumpdir.RoundPair) []string {
	here, there := make([]dumpdir.Coordinates, len(pairs)), make([]dumpdir.Coordinates, len(pairs))
	for i := range pairs {
		here[i], there[i] = pairs[i].At, pairs[i].Ref.At
	}
	names, seen := dumpdir.ShortNames(here), make(map[string]int)
	for _, name := range names {
		seen[name]++
	}
	for i, ref := range dumpdir.ShortNames(there) {
		if seen[names[i]] > 1 { // one round of the NPU is compared with several
			names[i] = strings.TrimSpace(names[i] + " against " + ref)
		}
	}
	return names
}

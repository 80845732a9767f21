package report

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"dumptool/internal/compare/record"
	"dumptool/internal/lang"
	"dumptool/internal/lists"
)

// graphRounds holds the rounds of one graph and model, by rank and step.
type graphRounds struct {
	name         string // such as graph 1 model net; empty if all rounds share one
	ranks, steps []string
	rounds       map[[2]string]*record.Round
}

// graphRoundsOf sorts rounds by rank and step; nil if several rounds have the same rank and step.
func graphRoundsOf(rounds []record.Round) (all []graphRounds) {
	index := map[[2]string]int{}
	for i := range rounds {
		r := &rounds[i]
		id := [2]string{r.RoundCoordinates.Graph, r.RoundCoordinates.Model}
		at, seen := index[id]
		if !seen {
			at = len(all)
			index[id] = at
			all = append(all, graphRounds{name: roundName(record.RoundCoordinates{Graph: r.RoundCoordinates.Graph, Model: r.RoundCoordinates.Model}), rounds: map[[2]string]*record.Round{}})
		}
		n := &all[at]
		place := [2]string{r.RoundCoordinates.Rank, r.RoundCoordinates.Step}
		if n.rounds[place] != nil {
			return nil
		}
		n.rounds[place] = r
		n.ranks, n.steps = append(n.ranks, r.RoundCoordinates.Rank), append(n.steps, r.RoundCoordinates.Step)
	}
	for i := range all {
		all[i].ranks, all[i].steps = axisOf(all[i].ranks), axisOf(all[i].steps)
	}
	if len(all) == 1 {
		all[0].name = ""
	}
	return all
}

// axisOf sorts the values of a coordinate and removes duplicates.
func axisOf(values []string) []string {
	slices.SortFunc(values, lang.CompareNatural)
	return slices.Compact(values)
}

// roundName names the known coordinates of a round.
func roundName(at record.RoundCoordinates) string {
	var words []string
	for _, c := range at.Coordinates() {
		if c.Value != "" {
			words = append(words, c.Name+" "+c.Value)
		}
	}
	return strings.Join(words, " ")
}

// span is a range of neighbours on an axis, inclusive.
type span struct{ from, to int }

// oneValueSpans returns n spans of one value each.
func oneValueSpans(n int) []span {
	spans := make([]span, n)
	for i := range spans {
		spans[i] = span{i, i}
	}
	return spans
}

// equalSpans returns spans of equal neighbours.
func equalSpans(n int, same func(i, j int) bool) []span {
	var spans []span
	for i := range n {
		if last := len(spans) - 1; last >= 0 && same(spans[last].from, i) {
			spans[last].to = i
			continue
		}
		spans = append(spans, span{i, i})
	}
	return spans
}

// label returns a span of an axis: 3 or 0-2.
func (s span) label(axis []string) string {
	if s.from == s.to {
		return axis[s.from]
	}
	return axis[s.from] + "-" + axis[s.to]
}

// roundStatus maps long statuses to short forms.
var roundStatus = map[record.Status]string{record.ShapeMismatch: "MISMATCH", record.DTypeMismatch: "MISMATCH",
	record.UnmatchedRef: "UNMATCHED", record.UnmatchedNPU: "UNMATCHED"}

// status returns the status at a rank and a step as a cell.
func (n *graphRounds) status(rank, step int) string {
	r := n.rounds[[2]string{n.ranks[rank], n.steps[step]}]
	if r == nil {
		return noValue
	}
	return cmp.Or(roundStatus[r.Status()], string(r.Status()))
}

// mergeEqual joins neighbouring ranks and steps with equal statuses.
func (n *graphRounds) mergeEqual() (ranks, steps []span) {
	ranks = equalSpans(len(n.ranks), func(a, b int) bool {
		return !slices.ContainsFunc(oneValueSpans(len(n.steps)), func(s span) bool { return n.status(a, s.from) != n.status(b, s.from) })
	})
	steps = equalSpans(len(n.steps), func(a, b int) bool {
		return !slices.ContainsFunc(oneValueSpans(len(n.ranks)), func(r span) bool { return n.status(r.from, a) != n.status(r.from, b) })
	})
	return ranks, steps
}

// matrix returns the table of statuses with ranks as rows and steps as columns.
func (n *graphRounds) matrix(ranks, steps []span) Table[span] {
	corner, noSteps := "rank/step", len(n.steps) == 1 && n.steps[0] == ""
	switch noRanks := len(n.ranks) == 1 && n.ranks[0] == ""; {
	case noRanks:
		corner = "step"
	case noSteps:
		corner = "rank"
	}
	t := Table[span]{Rows: ranks, Columns: []Column[span]{textColumn(corner, func(rank span) string { return rank.label(n.ranks) })}}
	for _, step := range steps {
		name := step.label(n.steps)
		if noSteps {
			name = "status"
		}
		t.Columns = append(t.Columns, textColumn(name, func(rank span) string { return n.status(rank.from, step.from) }))
	}
	return t
}

// maxRanks is the number of ranks up to which a matrix lists each rank.
const maxRanks = 16

// matrices returns the tables of statuses for a terminal: one with all ranks and steps if it fits,
// else merged ranks and steps in as many parts as needed.
func (n *graphRounds) matrices(width int) []Grid {
	ranks, steps := oneValueSpans(len(n.ranks)), oneValueSpans(len(n.steps))
	if g := n.matrix(ranks, steps).Grid(English); len(ranks) <= maxRanks && g.Width() <= width {
		return []Grid{g}
	}
	ranks, steps = n.mergeEqual()
	var parts []Grid
	for len(steps) > 0 {
		count, part := 1, n.matrix(ranks, steps[:1]).Grid(English)
		for count < len(steps) {
			g := n.matrix(ranks, steps[:count+1]).Grid(English)
			if g.Width() > width {
				break
			}
			count, part = count+1, g
		}
		parts, steps = append(parts, part), steps[count:]
	}
	return parts
}

// placesText describes rounds of the network, such as ranks 0-2,4 steps 3-7; empty if none belongs to
// it.
func (n *graphRounds) placesText(rounds []*record.Round) string {
	in := map[*record.Round]bool{}
	for _, r := range rounds {
		in[r] = true
	}
	var texts []string // steps of a rank
	ranksOf := map[string][]int{}
	for i, rank := range n.ranks {
		var steps []int
		for j, step := range n.steps {
			if in[n.rounds[[2]string{rank, step}]] {
				steps = append(steps, j)
			}
		}
		if len(steps) == 0 {
			continue
		}
		text := rangesText("step", n.steps, steps)
		if !slices.Contains(texts, text) {
			texts = append(texts, text)
		}
		ranksOf[text] = append(ranksOf[text], i)
	}
	for i, text := range texts {
		texts[i] = strings.TrimSpace(rangesText("rank", n.ranks, ranksOf[text]) + " " + text)
	}
	if len(texts) == 0 || n.name == "" {
		return strings.Join(texts, "; ")
	}
	return strings.TrimSpace(n.name + " " + strings.Join(texts, "; "))
}

// rangesText formats values of an axis: step 3, steps 0-2,5; empty if the coordinate is unknown.
func rangesText(noun string, axis []string, values []int) string {
	if axis[values[0]] == "" {
		return ""
	}
	var spans []span
	for _, v := range values {
		if last := len(spans) - 1; last >= 0 && spans[last].to == v-1 {
			spans[last].to = v
			continue
		}
		spans = append(spans, span{v, v})
	}
	labels := lists.Map(spans, func(s span) string { return s.label(axis) })
	if len(values) > 1 {
		noun += "s"
	}
	return noun + " " + strings.Join(labels, ",")
}

// placesOf describes rounds by rank and step if networks have them, else by name.
func (t Text) placesOf(networks []graphRounds, rounds []*record.Round) string {
	var texts []string
	for i := range networks {
		if text := networks[i].placesText(rounds); text != "" {
			texts = append(texts, text)
		}
	}
	if len(networks) > 0 {
		return strings.Join(texts, "; ")
	}
	for _, round := range rounds {
		texts = append(texts, round.Name)
	}
	return t.shortList(texts)
}

// badOperator is the first bad operator of some rounds.
type badOperator struct {
	row    *record.Row // in the first of the rounds
	rounds []*record.Round
}

// sortByStep returns rounds ordered by step and rank.
func sortByStep(rounds []record.Round) []*record.Round {
	all := pointers(rounds)
	slices.SortStableFunc(all, func(a, b *record.Round) int {
		return cmp.Or(lang.CompareNatural(a.RoundCoordinates.Step, b.RoundCoordinates.Step), lang.CompareNatural(a.RoundCoordinates.Rank, b.RoundCoordinates.Rank))
	})
	return all
}

// badOperators returns the first bad operators, ordered by their first step and rank.
func badOperators(r *record.Report) []badOperator {
	var all []badOperator
	index := map[string]int{}
	for _, round := range sortByStep(r.Rounds) {
		i := round.Findings.FirstBad
		if i < 0 || i >= r.Len() {
			continue
		}
		row := r.Row(i)
		at, seen := index[row.Op]
		if !seen {
			at = len(all)
			index[row.Op] = at
			all = append(all, badOperator{row: row})
		}
		all[at].rounds = append(all[at].rounds, round)
	}
	return all
}

// firstBadTable lists the first bad operators with their rounds.
func (t Text) firstBadTable(networks []graphRounds, all []badOperator, names shortNames) Table[badOperator] {
	return Table[badOperator]{Rows: all, Columns: []Column[badOperator]{
		textColumn("first_bad", func(b badOperator) string { return names.shortName(b.row) }).withTitle("FIRST BAD"),
		textColumn("type", func(b badOperator) string { return b.row.OpType }).withTitle("TYPE").hideIfEmpty(),
		numberColumn("rounds", func(b badOperator) int { return len(b.rounds) }).withTitle("ROUNDS"),
		textColumn("where", func(b badOperator) string { return t.placesOf(networks, b.rounds) }).withTitle("WHERE"),
	}}
}

// roundTable lists rounds, one per row.
func roundTable(r *record.Report) Table[*record.Round] {
	type round = *record.Round
	row := func(i int) string {
		if i < 0 || i >= r.Len() {
			return ""
		}
		return titleOf(r.Row(i))
	}
	return Table[round]{Rows: pointers(r.Rounds), Columns: []Column[round]{
		textColumn("round", func(x round) string { return x.Name }).emptyUnless(func(x round) bool { return x.RoundCoordinates == record.RoundCoordinates{} }).hideIfEmpty(),
		textColumn("rank", func(x round) string { return x.RoundCoordinates.Rank }).hideIfEmpty(),
		textColumn("step", func(x round) string { return x.RoundCoordinates.Step }).hideIfEmpty(),
		textColumn("graph", func(x round) string { return x.RoundCoordinates.Graph }).hideIfEmpty(),
		textColumn("model", func(x round) string { return x.RoundCoordinates.Model }).hideIfEmpty(),
		textColumn("status", func(x round) record.Status { return x.Status() }).withTitle("STATUS"),
		numberColumn("failed/compared", func(x round) string { return fmt.Sprintf("%d/%d", x.Counts[record.Fail], comparedOf(x)) }).withTitle("FAILED/COMPARED"),
		textColumn("first bad", func(x round) string { return row(x.Findings.FirstBad) }).withTitle("FIRST BAD").hideIfEmpty(),
		textColumn("last good", func(x round) string { return row(x.Findings.LastGood) }).withTitle("LAST GOOD").hideIfEmpty(),
		textColumn("largest jump", func(x round) string { return row(x.Findings.JumpOfOrigin()) }).emptyUnless(func(x round) bool { return !(x.Findings.Jump < notableJump) }).withTitle("LARGEST JUMP").hideIfEmpty(),
	}}
}

// comparedOf counts the compared rows of a round.
func comparedOf(x *record.Round) int {
	return x.Counts[record.Pass] + x.Counts[record.Rounding] + x.Counts[record.Warn] + x.Counts[record.Fail] + x.Counts[record.Partial]
}

// roundsText counts the rounds by status.
func (t Text) roundsText(r *record.Report) string {
	counts := map[record.Status]int{}
	for i := range r.Rounds {
		counts[r.Rounds[i].Status()]++
	}
	var parts []string
	for _, status := range record.Statuses() {
		if n := counts[status]; n > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", n, status))
		}
	}
	return t.format("%d rounds: %s", len(r.Rounds), t.join(parts...))
}

// maxRounds is the number of rounds up to which the text lists each round.
const maxRounds = 20

// foldedRounds is a group of rounds with the same status and first bad operator.
type foldedRounds struct {
	status record.Status
	row    *record.Row // first bad row of the first round, nil for none
	rounds []*record.Round
}

// foldRounds groups rounds, ordered by their first step and rank, without rounds that passed.
func foldRounds(r *record.Report) []foldedRounds {
	type key struct {
		status record.Status
		op     string
	}
	var all []foldedRounds
	index := map[key]int{}
	for _, round := range sortByStep(r.Rounds) {
		k, row := key{status: round.Status()}, (*record.Row)(nil)
		if k.status == record.Pass {
			continue
		}
		if i := round.Findings.FirstBad; i >= 0 && i < r.Len() {
			row = r.Row(i)
			k.op = row.Op
		}
		at, seen := index[k]
		if !seen {
			at = len(all)
			index[k] = at
			all = append(all, foldedRounds{status: k.status, row: row})
		}
		all[at].rounds = append(all[at].rounds, round)
	}
	return all
}

// foldedTable lists groups of rounds.
func (t Text) foldedTable(networks []graphRounds, all []foldedRounds, names shortNames) Table[foldedRounds] {
	return Table[foldedRounds]{Rows: all, Columns: []Column[foldedRounds]{
		textColumn("status", func(f foldedRounds) record.Status { return f.status }).withTitle("STATUS"),
		textColumn("first_bad", func(f foldedRounds) string {
			if f.row == nil {
				return ""
			}
			return names.shortName(f.row)
		}).withTitle("FIRST BAD").hideIfEmpty(),
		numberColumn("rounds", func(f foldedRounds) int { return len(f.rounds) }).withTitle("ROUNDS"),
		textColumn("where", func(f foldedRounds) string { return t.placesOf(networks, f.rounds) }).withTitle("WHERE"),
	}}
}

// printRounds prints the bad rounds of a run with several rounds: a line each, or if there are many a
// line for each group. A matrix and the first bad operators are printed on request, and in Markdown.
func (p *printer) printRounds(r *record.Report, names shortNames) {
	if len(r.Rounds) < 2 {
		return
	}
	p.writeBlankLine()
	p.text(p.roundsText(r))
	networks := graphRoundsOf(r.Rounds)
	switch {
	case !p.Matrix && !slices.ContainsFunc(r.Rounds, func(x record.Round) bool { return x.Status() != record.Pass }): // the count says it
	case (p.Matrix || p.markdown) && networks != nil:
		p.printMatrices(r, networks, names)
	case len(r.Rounds) <= maxRounds:
		p.table("", roundTable(r).Grid(p.Lang).Fit(p.Width))
	default:
		if folded := foldRounds(r); len(folded) > 0 {
			p.table("", p.foldedTable(networks, folded, names).Grid(p.Lang).Fit(p.Width))
		}
	}
}

// printMatrices prints the statuses of rounds by ranks and steps, and the first bad operators.
func (p *printer) printMatrices(r *record.Report, networks []graphRounds, names shortNames) {
	width := p.Width
	switch {
	case p.markdown:
		width = wideWidth
	case width <= 0:
		width = math.MaxInt
	}
	for i := range networks {
		if networks[i].name != "" {
			p.text(networks[i].name + p.format(":"))
		}
		for _, part := range networks[i].matrices(width) {
			p.table("", part)
		}
	}
	bad := badOperators(r)
	if len(bad) == 0 {
		return
	}
	p.writeBlankLine()
	p.table("", p.firstBadTable(networks, bad[:min(compareWorst, len(bad))], names).Grid(p.Lang))
	if more := len(bad) - compareWorst; more > 0 {
		p.text(p.format("and %d more", more))
	}
}

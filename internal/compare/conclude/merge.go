package conclude

import (
	"cmp"
	"context"
	"io"
	"slices"

	"dumptool/internal/batch"
	"dumptool/internal/compare/execute"
	"dumptool/internal/compare/limits"
	"dumptool/internal/compare/metrics"
	"dumptool/internal/compare/plan"
	"dumptool/internal/compare/record"
	"dumptool/internal/dumpdir"
	"dumptool/internal/lang"
	"dumptool/internal/lists"
	"dumptool/internal/ranks"
	"dumptool/internal/shard"
)

// Merge merges documents that fit together into one report: documents of shards, or of comparisons on several
// machines. It reads no tensors. origin is the origin of the result.
func (o *Options) Merge(ctx context.Context, docs []shard.Document, origin shard.Origin) (*record.Report, error) {
	parts, err := readHeads(ctx, docs)
	if err != nil {
		return nil, err
	}
	first := parts[0].head
	rep := &record.Report{Origin: origin, Args: first.Args, Profile: first.Profile, NaNPolicy: first.NaNPolicy, TolMode: first.TolMode,
		Verdict: first.Verdict, VerdictWhy: first.VerdictWhy, Standard: first.Standard, Listed: &record.Listing{Ref: []record.ListedRound{}, NPU: []record.ListedRound{}}}
	for _, part := range parts {
		if err := cmp.Or(checkMergeable(part.head, first), part.setRank()); err != nil {
			return nil, lang.Errorf("%s: %w", part.doc.Path, err)
		}
	}
	rounds, err := mergeRounds(parts)
	if err != nil {
		return nil, err
	}
	rows := 0
	for k := range rounds {
		x := &rounds[k]
		round := *x.round()
		x.resultIndex, rows = rows, rows+x.rows()
		round.Shift(x.resultIndex - x.first)
		rep.Rounds = append(rep.Rounds, round)
	}
	if origin.Shard == nil && first.Shard == nil && len(parts) > 1 {
		renameRounds(rep.Rounds)
	}
	if err := mergeHeads(rep, parts); err != nil {
		return nil, err
	}
	sums, err := o.readRows(ctx, parts, rounds)
	if err != nil {
		return nil, err
	}
	rep.Rows = make([]record.Row, 0, rows)
	for k := range rounds {
		x := &rounds[k]
		for _, row := range x.part.Rows[x.first : x.first+x.rows()] {
			x.adapt(&rep.Rounds[k], &row)
			rep.Rows = append(rep.Rows, row)
		}
	}
	for _, part := range parts {
		part.Report = nil // the report has copies of the rows
	}
	inputs := newCommInputs(rep)
	// Earlier steps say what a later one may read, and communications what errors come from other ranks.
	if len(docs) > 1 && rep.LeftOut == 0 && (len(inputs.byCall) > 0 || newHistory(rep, inputs) != nil) {
		judging := *o
		judging.Judge.Verdict.Mode, judging.Judge.Verdict.NaN = limits.VerdictMode(rep.Verdict), limits.NaNPolicy(rep.NaNPolicy)
		judging.judgeRounds(rep)
		sums = newSumsOf(rep)
	}
	o.setTotals(rep, sums)
	o.keepPictures(rep)
	return rep, nil
}

// keepPictures keeps only the pictures of the rows that a single run over all documents would have chosen.
func (o *Options) keepPictures(rep *record.Report) {
	var drawn []int
	if o.Pictures != nil {
		drawn = rep.PictureRows(o.Pictures.Kept)
	}
	kept := make([]*metrics.Pictures, len(drawn))
	for k, i := range drawn {
		kept[k] = rep.Rows[i].Pictures
	}
	for i := range rep.Rows {
		rep.Rows[i].Pictures = nil
	}
	for k, i := range drawn {
		rep.Rows[i].Pictures = kept[k]
	}
}

// mergePart is a document to merge.
type mergePart struct {
	doc  *shard.Document
	head *record.Report
	*record.Report
	sums *sumTotals
	err  error
}

// readHeads reads the part of each document that precedes its rows.
func readHeads(ctx context.Context, docs []shard.Document) ([]*mergePart, error) {
	parts := make([]*mergePart, 0, len(docs))
	err := batch.RunUntil(ctx, batch.Options{}, docs, nil, func(_ context.Context, doc shard.Document) *mergePart {
		p := &mergePart{doc: &doc}
		p.err = readDocument(doc.Path, func(in io.Reader) (err error) {
			p.head, err = record.ReadHead(in)
			return err
		})
		return p
	}, func(p *mergePart) error {
		parts = append(parts, p)
		return p.err
	})
	return parts, err
}

// mergeHeads merges the facts about the run in the heads.
func mergeHeads(rep *record.Report, parts []*mergePart) (err error) {
	first := parts[0].head
	for _, name := range first.Coverage.Unused {
		if !slices.ContainsFunc(parts, func(p *mergePart) bool { return !slices.Contains(p.head.Coverage.Unused, name) }) {
			rep.Coverage.Unused = append(rep.Coverage.Unused, name)
		}
	}
	between := lists.Map(parts, func(p *mergePart) []byte { return p.head.Ranks })
	rep.Listed.Stale = first.Listed.Stale
	for _, p := range parts {
		mergeListed(rep.Listed, p.head.Listed)
	}
	rep.Ranks, err = ranks.Merge(between)
	return err
}

// readRows reads the documents with their rows, several concurrently, and sums up the
// rows.
func (o *Options) readRows(ctx context.Context, parts []*mergePart, rounds []mergedRound) (*sumTotals, error) {
	all := newSums(0)
	err := batch.RunUntil(ctx, batch.Options{}, parts, nil, func(_ context.Context, p *mergePart) *mergePart {
		p.err = readDocument(p.doc.Path, func(in io.Reader) (err error) {
			if p.Report, err = record.Read(in); err != nil {
				return err
			}
			return o.addRows(p, rounds)
		})
		return p
	}, func(p *mergePart) error {
		if p.err == nil {
			all.merge(p.sums)
			p.sums = nil
		}
		return p.err
	})
	return all, err
}

// addRows sums up the rows of a document and checks that each is in its round.
func (o *Options) addRows(p *mergePart, rounds []mergedRound) error {
	if len(p.Rows) != p.rows() {
		return lang.Errorf("has %d rows, but its rounds have %d", len(p.Rows), p.rows())
	}
	p.sums = newSums(0)
	for k := range rounds {
		x := &rounds[k]
		if x.part != p {
			continue
		}
		for i := x.first; i < x.first+x.rows(); i++ {
			row := &p.Rows[i]
			if name := x.round().Name; row.Round != name {
				return lang.Errorf("row %d belongs to the round %q, but is among the rows of %q", i, row.Round, name)
			}
			o.dropDetails(row)
			p.sums.add(i-x.first+x.resultIndex, row)
		}
	}
	return nil
}

// checkMergeable returns an error if a document cannot be merged.
func checkMergeable(doc, first *record.Report) error {
	switch {
	case doc.Listed == nil:
		return lang.Errorf("made by an older version of dumptool: run the comparison again")
	case doc.LeftOut > 0:
		return lang.Errorf("omits %s that passed: compare again with --rows all", lang.Count(doc.LeftOut, "row"))
	case doc.FailedFast:
		return lang.Errorf("stops at its first failure (--fail-fast)")
	case doc.Verdict != first.Verdict:
		return lang.Errorf("judged by %s, the first document by %s", doc.Verdict, first.Verdict)
	}
	return nil
}

// setRank sets the rank that the user gave for a document. The document must have a single round, without another rank.
func (p *mergePart) setRank() error {
	rank, rounds := p.doc.Rank, p.head.Rounds
	if rank == "" {
		return nil
	}
	if len(rounds) != 1 || rounds[0].RoundCoordinates.Rank != "" && rounds[0].RoundCoordinates.Rank != rank {
		return lang.Errorf("rank=%s may be given only for a document with one round that has no rank", rank)
	}
	rounds[0].RoundCoordinates.Rank = rank
	return nil
}

// rows returns the number of rows in all rounds.
func (p *mergePart) rows() (n int) {
	for i := range p.head.Rounds {
		n += p.head.Rounds[i].Len()
	}
	return n
}

// mergedRound is a round of a document.
type mergedRound struct {
	part  *mergePart
	index int
	// first is the index of the round's first row in the document, at its index in the result.
	first, resultIndex int
}

func (m *mergedRound) round() *record.Round { return &m.part.head.Rounds[m.index] }

func (m *mergedRound) rows() int { return m.round().Len() }

// adapt sets the round of a row, and its references to other rows, to their values in the result.
func (m *mergedRound) adapt(round *record.Round, row *record.Row) {
	row.Verdict.Shift(m.resultIndex - m.first)
	row.Round, row.Key, row.RoundCoordinates.Rank = round.Name, round.Pairing.Key, cmp.Or(m.part.doc.Rank, row.RoundCoordinates.Rank)
}

// mergeRounds returns the rounds of all documents: shards in the order of a single run, others
// in the order of their coordinates. A duplicate round is an error.
func mergeRounds(parts []*mergePart) ([]mergedRound, error) {
	var all []mergedRound
	for _, part := range parts {
		first := 0
		for k := range part.head.Rounds {
			all = append(all, mergedRound{part: part, index: k, first: first})
			first += part.head.Rounds[k].Len()
		}
	}
	byPlace := parts[0].head.Shard != nil
	slices.SortStableFunc(all, func(a, b mergedRound) int {
		if byPlace {
			return a.round().Pairing.Place - b.round().Pairing.Place
		}
		return cmp.Or(coordinates(a.round().RoundCoordinates).Compare(coordinates(b.round().RoundCoordinates)), coordinates(a.round().RefAt).Compare(coordinates(b.round().RefAt)))
	})
	for i := range all[:max(len(all)-1, 0)] {
		a, b := &all[i], &all[i+1]
		x, y := a.round(), b.round()
		switch path, other := b.part.doc.Path, a.part.doc.Path; {
		case byPlace && x.Pairing.Place != y.Pairing.Place, !byPlace && (x.RoundCoordinates != y.RoundCoordinates || x.RefAt != y.RefAt || a.part == b.part):
		case x.RoundCoordinates == (record.RoundCoordinates{}):
			return nil, lang.Errorf("%s: its round has no rank and no step, nor has the round of %s: give the rank, such as rank=0:%s", path, other, path)
		default:
			return nil, lang.Errorf("%s: contains the round %s, and so does %s", path, cmp.Or(y.Name, coordinates(y.RoundCoordinates).String()), other)
		}
	}
	return all, nil
}

// coordinates converts the coordinates of a round.
func coordinates(at record.RoundCoordinates) dumpdir.Coordinates {
	return dumpdir.Coordinates{Rank: at.Rank, Step: at.Step, Graph: at.Graph, Model: at.Model}
}

// renameRounds gives rounds of different runs distinct names.
func renameRounds(rounds []record.Round) {
	npuAt, refAt := make([]dumpdir.Coordinates, len(rounds)), make([]dumpdir.Coordinates, len(rounds))
	for i := range rounds {
		npuAt[i], refAt[i] = coordinates(rounds[i].RoundCoordinates), coordinates(rounds[i].RefAt)
	}
	for i, name := range plan.ShortNames(npuAt, refAt) {
		r := &rounds[i]
		r.Name, r.Pairing.Key, r.Pairing.Place = name, name, i
	}
}

// mergeListed adds the listing of a document. Shards of one run have the same
// listing.
func mergeListed(to, from *record.Listing) {
	to.Ref, to.NPU = mergeSide(to.Ref, from.Ref), mergeSide(to.NPU, from.NPU)
	to.Inputs = to.Inputs || from.Inputs
	for _, other := range from.Others {
		if !slices.Contains(to.Others, other) {
			to.Others = append(to.Others, other)
		}
	}
	to.Stale = slices.DeleteFunc(slices.Clone(to.Stale), func(s lang.Sentence) bool { return !slices.ContainsFunc(from.Stale, s.Equal) })
	to.Warnings, to.OfOptions = mergeWarnings(to.Warnings, from.Warnings), mergeWarnings(to.OfOptions, from.OfOptions)
	if to.Kept == nil {
		to.Kept = from.Kept
	}
}

// mergeSide adds the rounds of a side; a round has a partner if it has one in any document. Only one shard counts the
// outputs of a round, and only the shards that read it know its dumps.
func mergeSide(all, more []record.ListedRound) []record.ListedRound {
	for _, r := range more {
		i := slices.IndexFunc(all, func(x record.ListedRound) bool {
			return x.RoundCoordinates == r.RoundCoordinates && x.Folder == r.Folder
		})
		if i < 0 {
			all = append(all, r)
			continue
		}
		all[i].Paired, all[i].Outputs = all[i].Paired || r.Paired, max(all[i].Outputs, r.Outputs)
		if !all[i].Dumps.HasFacts() {
			all[i].Dumps = r.Dumps
		}
	}
	return all
}

// mergeWarnings adds the warnings that are not yet in the list.
func mergeWarnings(all, more []lang.Sentence) []lang.Sentence {
	for _, w := range more {
		if !slices.ContainsFunc(all, w.Equal) {
			all = append(all, w)
		}
	}
	return all
}

// dropDetails drops details of a result that the options do not request: a shard keeps all details, since it cannot
// foresee which reports will be made.
func (o *Options) dropDetails(row *record.Row) {
	res := row.Result
	if res == nil {
		return
	}
	res.Worst, res.Listed = firstElements(res.Worst, o.Top), firstElements(res.Listed, o.List)
	if !o.KLD {
		res.KLD = metrics.Metric{}
	}
	execute.Trim(res, row.Pair.Status, o.Bins, o.Axes)
}

// firstElements returns at most n elements; a shortened list is copied to free the rest.
func firstElements(elements []metrics.Element, n int) []metrics.Element {
	switch {
	case n <= 0:
		return nil
	case len(elements) <= n:
		return elements
	}
	return slices.Clone(elements[:n])
}

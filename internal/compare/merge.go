package compare

import (
	"cmp"
	"context"
	"io"
	"maps"
	"slices"
	"sort"
	"strings"

	"dumptool/internal/batch"
	"dumptool/internal/compare/metrics"
	"dumptool/internal/compare/record"
	"dumptool/internal/dumpdir"
	"dumptool/internal/lang"
	"dumptool/internal/ranks"
	"dumptool/internal/safefile"
	"dumptool/internal/shard"
)

// Merge makes one report of the rounds of several documents, which fit together: of
// shards, or of comparisons on several machines. It reads no tensors. The origin is that
// of the result. It takes the rows over. What they were read without is read again where
// compare.json is written, and so are the pictures of the rows that one run would have drawn.
func (o *Options) Merge(ctx context.Context, docs []shard.Document, parts []*MergePart, origin shard.Origin) (*record.Report, error) {
	reports, held := make([]*record.Report, len(parts)), heldType{}
	for i, part := range parts {
		reports[i] = part.Report
		held.join(&part.held)
	}
	first := reports[0]
	rep := &record.Report{Origin: origin, Args: first.Args, Profile: first.Profile, NaNPolicy: first.NaNPolicy, TolMode: first.TolMode,
		Verdict: first.Verdict, VerdictWhy: first.VerdictWhy, Standard: first.Standard, Listed: &record.Listed{Ref: []record.ListedRound{}, NPU: []record.ListedRound{}}}
	for i, doc := range reports {
		if err := mergeable(doc, first); err != nil {
			return nil, lang.Errorf("%s: %w", docs[i].Path, err)
		}
		if err := rank(doc, docs[i].Rank); err != nil {
			return nil, lang.Errorf("%s: %w", docs[i].Path, err)
		}
	}
	rounds, err := mergeRounds(docs, parts)
	if err != nil {
		return nil, err
	}
	left, rows := map[*record.Report]int{}, 0 // rounds of a document
	for _, doc := range reports {
		left[doc], rows = len(doc.Rounds), rows+doc.Len()
	}
	rep.Rows = make([]record.Row, 0, rows)
	for k, x := range rounds {
		rounds[k].at = len(rep.Rows)
		round := x.of.Rounds[x.index]
		shift := len(rep.Rows) - x.rows.first
		round.Shift(shift)
		for _, row := range x.of.Rows[x.rows.first:x.rows.end] {
			row.Verdict.Shift(shift)
			row.Round, row.Key = round.Name, round.Pairing.Key
			rep.Rows = append(rep.Rows, row)
		}
		rep.Rounds = append(rep.Rounds, round)
		if left[x.of]--; left[x.of] == 0 {
			x.of.Rows = nil // which are in the report now
		}
	}
	if origin.Shard == nil && first.Shard == nil && len(reports) > 1 {
		rename(rep)
	}
	for _, name := range first.Coverage.Unused {
		if !slices.ContainsFunc(reports, func(doc *record.Report) bool { return !slices.Contains(doc.Coverage.Unused, name) }) {
			rep.Coverage.Unused = append(rep.Coverage.Unused, name)
		}
	}
	var between [][]byte
	for _, doc := range reports {
		between = append(between, doc.Ranks)
	}
	if rep.Ranks, err = ranks.Merge(between); err != nil {
		return nil, err
	}
	rep.Listed.Stale = first.Listed.Stale
	for _, doc := range reports {
		mergeListed(rep.Listed, doc.Listed)
	}
	if !o.Whole {
		rep.Again = func(i int) ([]record.Row, error) {
			if x := &rounds[i]; !x.part.Less { // by statistics
				return make([]record.Row, x.rows.end-x.rows.first), nil
			}
			return readAgain(rep, &rounds[i], false)
		}
	}
	rep.Effective = held.name()
	o.sumUp(rep)
	return rep, o.takePictures(ctx, rep, rounds)
}

// takePictures takes the pictures of rows from their documents.
func (o *Options) takePictures(ctx context.Context, rep *record.Report, rounds []mergedRound) error {
	if o.Pictures == nil {
		return nil
	}
	wanted := map[int][]int{} // rows by rounds
	for _, i := range rep.PictureRows(o.Pictures.Kept) {
		k := sort.Search(len(rounds), func(k int) bool { return rounds[k].at > i }) - 1
		wanted[k] = append(wanted[k], i)
	}
	type drawn struct {
		pictures []*metrics.Pictures
		err      error
	}
	var failed error
	in := slices.Sorted(maps.Keys(wanted))
	err := batch.Run(ctx, batch.Options{Workers: o.Workers}, in, nil,
		func(_ context.Context, k int) (d drawn) {
			round := rounds[k]
			round.rows.end = round.rows.first + slices.Max(wanted[k]) - round.at + 1 // behind it none is wanted
			rows, err := readAgain(rep, &round, true)
			if d.err = err; err == nil {
				for _, i := range wanted[k] {
					d.pictures = append(d.pictures, rows[i-rounds[k].at].Pictures)
				}
			}
			return d
		},
		func(n int, d drawn) {
			failed = cmp.Or(failed, d.err)
			for x, p := range d.pictures {
				rep.Rows[wanted[in[n]][x]].Pictures = p
			}
		})
	return cmp.Or(err, failed)
}

// MergePart is a document that is merged.
type MergePart struct {
	*record.Kept
	held heldType
}

// ReadPart reads the compare.json of a run for a merge, of the rows what reports want of the
// options. Errors name it.
func (o *Options) ReadPart(path string) (*MergePart, error) {
	part := new(MergePart)
	err := readDocument(path, func(in io.Reader) (err error) {
		part.Kept, err = record.ReadKept(in, o.Whole, func(row *record.Row) {
			o.retain(row)
			part.held.add(row)
			row.Pictures = nil // each document has those of its own most telling rows
		})
		return err
	})
	return part, err
}

// readAgain reads again what was passed over of the rows of a round of a merged report, or
// their pictures alone.
func readAgain(rep *record.Report, round *mergedRound, drawn bool) ([]record.Row, error) {
	path, n := safefile.InFolder(round.path, DocumentName), round.rows.end-round.rows.first
	rows, err := round.part.ReadAgain(round.rows.first, rep.Rows[round.at:round.at+n], drawn, func(offset int64) (io.ReadCloser, error) { return shard.OpenAt(path, offset) })
	if err != nil {
		return nil, safefile.WithPath(path, err)
	}
	return rows, nil
}

// mergeable reports what a document lacks that a merge needs.
func mergeable(doc, first *record.Report) error {
	switch {
	case doc.Listed == nil:
		return lang.Errorf("made by an older version of dumptool: run the comparison again")
	case doc.LeftOut > 0:
		return lang.Errorf("lacks %s that passed: make it with --rows all", lang.Count(doc.LeftOut, "row"))
	case doc.FailedFast:
		return lang.Errorf("ends with its first failure (--fail-fast)")
	case doc.Verdict != first.Verdict:
		return lang.Errorf("judged by %s, the first document by %s", doc.Verdict, first.Verdict)
	}
	return nil
}

// rank gives the only round of a document, which knows none, a rank.
func rank(doc *record.Report, rank string) error {
	if rank == "" {
		return nil
	}
	if len(doc.Rounds) != 1 || doc.Rounds[0].At.Rank != "" && doc.Rounds[0].At.Rank != rank {
		return lang.Errorf("rank=%s is for a document of one round without a rank", rank)
	}
	doc.Rounds[0].At.Rank = rank
	for i := range doc.Rows {
		doc.Rows[i].At.Rank = rank
	}
	return nil
}

// mergedRound is a round of a document.
type mergedRound struct {
	part  *MergePart
	of    *record.Report
	path  string
	index int
	// rows are those in the document, at is the place of the first of them in the result.
	rows rowRange
	at   int
}

func (m *mergedRound) round() *record.Round { return &m.of.Rounds[m.index] }

// mergeRounds are the rounds of documents in their order: that in which one run has them,
// else that of their coordinates. A round that is there twice is an error.
func mergeRounds(docs []shard.Document, parts []*MergePart) ([]mergedRound, error) {
	var all []mergedRound
	for i, part := range parts {
		ranges := roundRanges(part.Report)
		for k := range part.Rounds {
			all = append(all, mergedRound{part: part, of: part.Report, path: docs[i].Path, index: k, rows: ranges[k]})
		}
	}
	byPlace := parts[0].Shard != nil
	slices.SortStableFunc(all, func(a, b mergedRound) int {
		if byPlace {
			return a.round().Pairing.Place - b.round().Pairing.Place
		}
		return cmp.Or(coordinates(a.round().At).Compare(coordinates(b.round().At)), coordinates(a.round().RefAt).Compare(coordinates(b.round().RefAt)))
	})
	for i := range all[:max(len(all)-1, 0)] {
		a, b := &all[i], &all[i+1]
		x, y := a.round(), b.round()
		switch {
		case byPlace && x.Pairing.Place != y.Pairing.Place, !byPlace && (x.At != y.At || x.RefAt != y.RefAt || a.of == b.of):
		case x.At == (record.At{}):
			return nil, lang.Errorf("%s: its round has no rank and no step, nor has that of %s: rank=0:%s says which it is", b.path, a.path, b.path)
		default:
			return nil, lang.Errorf("%s: has the round %s, as %s has", b.path, cmp.Or(y.Name, coordinates(y.At).String()), a.path)
		}
	}
	return all, nil
}

// coordinates are those of a round.
func coordinates(at record.At) dumpdir.Coordinates {
	return dumpdir.Coordinates{Rank: at.Rank, Step: at.Step, Graph: at.Graph, Model: at.Model}
}

// rename gives the rounds of documents of different runs names that tell them apart.
func rename(rep *record.Report) {
	here, there := make([]dumpdir.Coordinates, len(rep.Rounds)), make([]dumpdir.Coordinates, len(rep.Rounds))
	for i := range rep.Rounds {
		here[i], there[i] = coordinates(rep.Rounds[i].At), coordinates(rep.Rounds[i].RefAt)
	}
	names, ranges := shortNames(here, there), make([]rowRange, len(rep.Rounds))
	at := 0
	for i := range rep.Rounds {
		r := &rep.Rounds[i]
		for ranges[i].first = at; at < len(rep.Rows) && rep.Rows[at].Round == r.Name && rep.Rows[at].At == r.At; at++ {
		}
		ranges[i].end = at
		r.Name, r.Pairing.Key, r.Pairing.Place = names[i], names[i], i
	}
	for i, rows := range ranges {
		for k := rows.first; k < rows.end; k++ {
			rep.Rows[k].Round, rep.Rows[k].Key = names[i], names[i]
		}
	}
}

// mergeListed adds what the listing of a document says. Shards of one run have all
// listed the same.
func mergeListed(to, from *record.Listed) {
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

// mergeSide adds the rounds of a side; one has a partner if any document has paired it.
// Of shards one alone has counted its tensors, and those that read it know its dumps.
func mergeSide(all, more []record.ListedRound) []record.ListedRound {
	for _, r := range more {
		i := slices.IndexFunc(all, func(x record.ListedRound) bool { return x.At == r.At && x.Folder == r.Folder })
		if i < 0 {
			all = append(all, r)
			continue
		}
		all[i].Paired, all[i].Outputs = all[i].Paired || r.Paired, max(all[i].Outputs, r.Outputs)
		if !all[i].Dumps.Known() {
			all[i].Dumps = r.Dumps
		}
	}
	return all
}

// mergeWarnings adds those that are not there yet.
func mergeWarnings(all, more []lang.Sentence) []lang.Sentence {
	for _, w := range more {
		if !slices.ContainsFunc(all, w.Equal) {
			all = append(all, w)
		}
	}
	return all
}

// retain leaves of the result of a row what the options want: a shard does not know which
// reports will be made.
func (o *Options) retain(row *record.Row) {
	res := row.Result
	if res == nil {
		return
	}
	res.Worst, res.Listed = res.Worst[:min(len(res.Worst), o.Top)], res.Listed[:min(len(res.Listed), o.List)]
	if !o.KLD {
		res.KLD = metrics.Metric{}
	}
	trim(res, row.Pair.Status, o.Bins, o.Axes)
}

// Resume takes the rows of an earlier document of the same work that could be read: they
// are not compared again. Without a document there are none.
func (p *Plan) Resume(earlier *record.Report) {
	if earlier == nil {
		return
	}
	rows := map[string]*record.Row{}
	for _, row := range earlier.All() {
		if row.Pair.Status != record.Error {
			rows[resumeKey(row)] = row
		}
	}
	for i := range p.Pairs {
		x := &p.Pairs[i]
		row := rows[resumeKey(x.Row)]
		if x.decided || row == nil {
			continue
		}
		planned := *x.Row
		*x.Row = *row
		x.Row.Verdict = record.Verdict{}
		x.Row.RefPath, x.Row.NPUPath, x.Row.Order, x.Row.Key = planned.RefPath, planned.NPUPath, planned.Order, planned.Key
	}
}

// resumeKey names a row by all that tells it from others.
func resumeKey(row *record.Row) string {
	return strings.Join([]string{row.Name(), row.NPUOp, row.RefFile, row.NPUFile}, "\x00")
}

// A report of a hundred thousand rows has to fit in memory: of each row it keeps
// what the conclusion and the reports show.

// trim drops the details of the result of a row that no report has. The joint
// histogram, the profiles of axes and the histograms of bad rows stay if bins is set.
func trim(res *metrics.Result, status record.Status, bins, axes bool) {
	if !bins {
		res.Joint = nil
	}
	if !bins && (!axes || status != record.Fail) {
		res.Axes = nil
	}
	res.WorstRel, res.ErrorOffsets = nil, nil
	if status == record.Pass || !bins {
		res.AbsHistogram.Bins, res.RelHistogram.Bins = nil, nil
	}
	if status == record.Pass {
		res.Worst, res.Listed, res.Axes = nil, nil, nil
		return
	}
	res.AbsHistogram, res.RelHistogram = record.FoldHistogram(res.AbsHistogram), record.FoldHistogram(res.RelHistogram)
	if status != record.Fail {
		res.Listed = nil // only failures have a file of errors
	}
	res.Axes = record.FoldAxes(res.Axes)
}

package convert

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"strings"

	"dumptool/internal/batch"
	"dumptool/internal/dumpdir"
	"dumptool/internal/filename"
	"dumptool/internal/lang"
	"dumptool/internal/shard"
	"dumptool/internal/store"
)

// PartKind is the kind of parts of a conversion.
const PartKind = "convert"

// inputsPart is the row with index 0, which the first shard writes: what is known
// before any file is converted.
type inputsPart struct {
	Paths     []shard.Text
	Single    bool
	NotChosen int
	Others    []lang.Text // only when there is nothing to convert
}

// resultPart is the row of a file.
type resultPart struct {
	Summary   Summary
	Failed    shard.Text    `json:",omitempty"` // its line in the list of failures
	Shortened []renamedPart `json:",omitempty"`
}

// renamedPart is a shortened name, and its folder below that of the run.
type renamedPart struct{ Dir, Stored, Original shard.Text }

// RunPart converts those files that belong to a shard, as Run does. What Run lists of
// failures and shortened names goes to a part file in the output folder, for Merge. Files
// are divided by size; those whose outputs may have the same names stay together.
func RunPart(ctx context.Context, opt Options, in *dumpdir.Run, spec shard.Spec, tool string, observe func(batch.Event), emit func(*Result) error) (path string, err error) {
	if opt.Custom != nil {
		defer opt.Custom.Close()
	}
	if err := checkFolder(opt.Out); err != nil {
		return "", err
	}
	all := jobs(in.Files)
	shards, plan := divide(all, &opt, spec.Of)
	w, err := shard.Create(opt.Out, shard.Head{Kind: PartKind, Tool: tool, Plan: plan, Shard: spec.Index, Of: spec.Of, Rows: 1 + len(all)})
	if err != nil {
		return "", err
	}
	defer w.Abort()
	put := func(index int, row any) {
		data, failed := json.Marshal(row)
		if failed == nil {
			failed = w.Write(index, data)
		}
		err = errors.Join(err, failed)
	}
	if spec.Index == 0 {
		put(0, inputsOf(in))
	}
	var mine []Job
	var index []int
	for i, j := range all {
		if shards[i] == spec.Index {
			mine, index = append(mine, j), append(index, 1+i)
		}
	}
	r := newRun(opt, in)
	next := 0
	stopped := r.convertAll(ctx, mine, observe, func(res Result) {
		if err == nil {
			put(index[next], partOf(&res, opt.Out))
		}
		next++
		if err == nil {
			err = emit(&res)
		}
	})
	if err = errors.Join(stopped, err); err != nil {
		return "", err
	}
	return w.Path(), w.Commit()
}

// divide returns the shard of each job, and what identifies the whole.
func divide(all []Job, opt *Options, n int) (shards []int, plan string) {
	work := shard.NewFingerprint()
	work.Add(fmt.Sprintf("%s %v", opt.Type, opt.Target))
	group := make(map[string]int)
	of := make([]int, len(all))
	var keys []string
	var sizes []int64
	for i, j := range all {
		key := shard.Key("", "", 0, j.Folder.Dir, j.Name)
		work.Add(key, j.Size)
		together := j.Folder.Dir + "\x00" + stem(j.Name)
		g, ok := group[together]
		if !ok {
			g = len(keys)
			group[together] = g
			keys, sizes = append(keys, together), append(sizes, 0)
		}
		of[i] = g
		sizes[g] += 1 + j.Size
	}
	shards = make([]int, len(all))
	assigned := shard.Balance(sizes, keys, n)
	for i, g := range of {
		shards[i] = assigned[g]
	}
	return shards, work.String()
}

// stem is what the names of files have in common whose outputs may have the same name:
// those of one dump, of one name with several endings, and dumps of one execution whose
// operators have the same last name.
func stem(name string) string {
	info := filename.Parse(name)
	if info.Source != "" {
		name = info.Source
	}
	if parts := strings.Split(name, "."); len(parts) == 5 {
		parts[1] = ""
		return strings.Join(parts, ".")
	}
	return withoutExt(name)
}

func inputsOf(in *dumpdir.Run) *inputsPart {
	p := &inputsPart{Paths: shard.Texts(in.Paths), Single: in.Single, NotChosen: in.NotChosen}
	for _, f := range in.Files {
		if f.Role == dumpdir.Tensors && f.Size > 0 {
			return p
		}
	}
	for _, m := range in.OtherFiles() {
		p.Others = append(p.Others, m.Text.Text())
	}
	return p
}

// partOf is what is listed of a result.
func partOf(r *Result, out string) *resultPart {
	p := new(resultPart)
	p.Summary.add(r)
	var l ledger
	l.add(r)
	for _, line := range l.failed {
		p.Failed = shard.Text(line)
	}
	for dir, names := range l.shortened {
		rel, err := store.Rel(out, dir)
		if err != nil {
			rel = dir // below out in any case
		}
		for _, n := range names {
			p.Shortened = append(p.Shortened, renamedPart{shard.Text(filepath.ToSlash(rel)), shard.Text(n.Stored), shard.Text(n.Original)})
		}
	}
	return p
}

// Merge writes the list of failures and the mapping of shortened names to the output
// folder of shards, as Run does, and removes the parts.
func Merge(parts *shard.Listing, out string) (Summary, Inputs, error) {
	var first inputsPart
	var sum Summary
	var records ledger
	err := parts.Rows(false, func(row shard.Row) error {
		if row.Index == 0 {
			return json.Unmarshal(row.Data, &first)
		}
		var p resultPart
		if err := json.Unmarshal(row.Data, &p); err != nil {
			return fmt.Errorf("row %d of the parts: %w", row.Index, err)
		}
		sum.merge(&p.Summary)
		if p.Failed != "" {
			records.failed = append(records.failed, string(p.Failed))
		}
		for _, n := range p.Shortened {
			dir := store.Join(out, filepath.FromSlash(string(n.Dir)))
			if _, err := store.Within(out, dir); err != nil {
				return fmt.Errorf("row %d of the parts: %w", row.Index, err)
			}
			records.shorten(dir, dumpdir.Renamed{Stored: string(n.Stored), Original: string(n.Original)})
		}
		return nil
	})
	if err != nil {
		return Summary{}, Inputs{}, err
	}
	if !first.Single {
		err = records.writeFailed(out)
	}
	if err := errors.Join(err, records.writeMappings()); err != nil {
		return Summary{}, Inputs{}, err
	}
	for i := range parts.Parts {
		err = errors.Join(err, store.Remove(parts.Parts[i].Path))
	}
	return sum, first.inputs(), err
}

// merge adds the counts of another part.
func (s *Summary) merge(o *Summary) {
	s.Files, s.Failed, s.NotDumps, s.Empty = s.Files+o.Files, s.Failed+o.Failed, s.NotDumps+o.NotDumps, s.Empty+o.Empty
	s.Arrays, s.Statistics, s.Written, s.Skipped = s.Arrays+o.Arrays, s.Statistics+o.Statistics, s.Written+o.Written, s.Skipped+o.Skipped
}

// inputs are the files that were listed.
func (p *inputsPart) inputs() Inputs {
	return Inputs{Paths: shard.Strings(p.Paths), NotChosen: p.NotChosen, Others: func() []batch.Message {
		var all []batch.Message
		for _, t := range p.Others {
			all = append(all, batch.Infof("%s", "%s", t))
		}
		return all
	}}
}

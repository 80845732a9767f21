package compare

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"runtime/debug"

	"dumptool/internal/batch"
	"dumptool/internal/compare/diagnose"
	"dumptool/internal/compare/record"
	"dumptool/internal/scratch"
	"dumptool/internal/shard"
)

// Merge makes the report of a comparison of its parts, as Conclude does of the rows of one
// run. The rows of the plan and of the parts are read once, beside each other, and set
// aside in a file: the memory of a merge is a few bytes of every row, and the rows of a
// round while that is diagnosed. IgnoreID lets files have been written at another time.
// With allowMissing rows may be missing. The rows of the report have to be closed.
type Merge struct {
	// Plan is without rows.
	Plan   *Plan
	Report *record.Report
	// Rows is the number of rows that were planned.
	Rows int

	rows     rowStore
	evidence evidenceStore
}

// Close gives the rows up.
func (m *Merge) Close() error { return cmp.Or(m.rows.Close(), m.evidence.log.Close()) }

// mergedRow is a row on its way into a report.
type mergedRow struct {
	planned plannedRow
	part    Part
	found   bool // in a part
}

// mergedJob is a row that is to be read: a line of the plan, and the row of a part.
type mergedJob struct {
	line plannedLine
	part *shard.Row // nil where no part has it
}

// Merge makes the report of the parts of the plan.
func (p *PlanFile) Merge(ctx context.Context, opt Options, l *shard.Listing, allowMissing bool) (*Merge, error) {
	defer debug.SetGCPercent(debug.SetGCPercent(runGCPercent))
	plan, reader := p.begin(opt, true)
	m := &Merge{Plan: plan, Report: plan.newReport(), Rows: p.head.Rows}
	m.Report.Source = &m.rows
	known := &finished{aside: &m.evidence, planned: p.head.Rows}
	if err := m.read(ctx, p, reader, l, allowMissing, known); err != nil {
		return nil, cmp.Or(err, m.Close())
	}
	if m.Report.Len() == m.Rows {
		m.Report.Calls = plan.calls
	}
	plan.conclude(m.Report, known)
	m.evidence.drop()
	if err := cmp.Or(m.rows.Err(), m.evidence.err); err != nil {
		return nil, cmp.Or(err, m.Close())
	}
	return m, nil
}

// read reads the rows of the plan and of the parts.
func (m *Merge) read(ctx context.Context, p *PlanFile, reader *planReader, l *shard.Listing, allowMissing bool, known *finished) error {
	sum, lines := p.head.sum(), 0
	var jobs []mergedJob
	run := func() error {
		var failed error
		err := batch.Run(ctx, batch.Options{Workers: m.Plan.opt.Workers}, jobs, nil,
			func(_ context.Context, job mergedJob) mergedRow { return m.Plan.mergeRow(reader, p, job) },
			func(i int, r mergedRow) {
				if failed != nil {
					return
				}
				if failed = r.planned.err; failed != nil {
					return
				}
				sum.Write(r.planned.summed) // never fails
				if !r.found {
					return
				}
				m.rows.Add(r.part.Row)
				m.evidence.add(r.part.Evidence)
				if w := r.part.Warning; !w.IsZero() {
					known.warnings = append(known.warnings, w)
				}
			})
		jobs = jobs[:0]
		return cmp.Or(failed, err, m.rows.Err(), m.evidence.err)
	}
	// next takes the next line of the plan, which ok says there is.
	next := func() (line plannedLine, ok bool, err error) {
		text, err := p.line()
		if errors.Is(err, io.EOF) {
			return line, false, nil
		}
		line = plannedLine{text, p.lines, lines}
		lines++
		return line, err == nil, err
	}
	add := func(job mergedJob) error {
		if jobs = append(jobs, job); len(jobs) < rowsRead {
			return nil
		}
		return run()
	}
	err := l.Rows(allowMissing, func(r shard.Row) error {
		for {
			line, ok, err := next()
			if err != nil {
				return err
			}
			if !ok {
				return p.checkRows(lines, sum)
			}
			job := mergedJob{line: line}
			if line.index == r.Index {
				job.part = &r
			}
			if err := add(job); err != nil || job.part != nil {
				return err
			}
		}
	})
	for err == nil {
		line, ok, failed := next()
		if err = failed; !ok {
			break
		}
		err = add(mergedJob{line: line})
	}
	if err == nil {
		err = run()
	}
	if err != nil {
		return err
	}
	return p.checkRows(lines, sum)
}

// mergeRow reads a row.
func (p *Plan) mergeRow(reader *planReader, file *PlanFile, job mergedJob) (m mergedRow) {
	m.planned = reader.read(&file.planLines, job.line)
	if m.planned.err != nil || job.part == nil {
		return m
	}
	row := m.planned.row
	m.part, m.planned.err = p.fillRow(&m.planned.pair, &row, *job.part)
	if m.planned.err != nil {
		m.planned.err = fmt.Errorf("row %d: %w", job.part.Index, m.planned.err)
	}
	m.found = true
	return m
}

// evidenceStore is the evidence of rows that are set aside.
type evidenceStore struct {
	log  scratch.Log
	at   []int64
	size []uint32
	err  error
}

// add adds the evidence of the next row.
func (s *evidenceStore) add(e diagnose.Evidence) {
	b, err := e.Append(nil)
	at := int64(0)
	if err == nil {
		at, err = s.log.Append(b)
	}
	if err != nil && s.err == nil {
		s.err = err
	}
	s.at, s.size = append(s.at, at), append(s.size, uint32(len(b)))
}

// get reads the evidence of a row. After an error it is empty.
func (s *evidenceStore) get(i int) *diagnose.Evidence {
	b := make([]byte, s.size[i])
	err := s.log.ReadAt(b, s.at[i])
	var e diagnose.Evidence
	if err == nil {
		e, err = diagnose.DecodeEvidence(b)
	}
	if err != nil && s.err == nil {
		s.err = err
	}
	return &e
}

// drop gives the evidence up, which nothing needs after the diagnosis.
func (s *evidenceStore) drop() {
	if err := s.log.Close(); err != nil && s.err == nil {
		s.err = err
	}
	s.at, s.size, s.log = nil, nil, scratch.Log{}
}

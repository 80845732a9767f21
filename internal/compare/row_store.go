package compare

import (
	"slices"

	"dumptool/internal/compare/record"
	"dumptool/internal/scratch"
)

// rowStore is rows that are set aside, so that the memory of a report does not grow with
// them: a few bytes of each stay. It is not safe for use by several goroutines at once.
type rowStore struct {
	log    scratch.Log
	at     []int64 // of each row in log
	size   []uint32
	briefs []storedBrief
	rounds []string
	err    error
	buffer []byte
	recent [16]struct { // rows that were read last
		row   *record.Row
		index int
	}
}

// storedBrief is a Brief in 16 bytes.
type storedBrief struct {
	order  int64
	round  int32
	status record.StatusCode
	flags  uint8
}

// The flags of a storedBrief, in the order of pack.
const (
	flagCompared = 1 << iota
	flagJudged
	flagErrors
	flagOrigin
	flagDownstream
	flagKnown
	flagLinks
)

// Add adds a row at the end.
func (s *rowStore) Add(row *record.Row) {
	s.at, s.size, s.briefs = append(s.at, 0), append(s.size, 0), append(s.briefs, storedBrief{})
	s.Put(len(s.at)-1, row)
}

// Put replaces a row.
func (s *rowStore) Put(i int, row *record.Row) {
	s.buffer = record.AppendRow(s.buffer[:0], row)
	at, err := s.log.Append(s.buffer)
	if err != nil && s.err == nil {
		s.err = err
	}
	s.at[i], s.size[i], s.briefs[i] = at, uint32(len(s.buffer)), s.pack(row.Brief())
	s.recent[i%len(s.recent)].row = nil
}

// pack is a brief in few bytes.
func (s *rowStore) pack(b record.Brief) storedBrief {
	x := storedBrief{order: int64(b.Order), status: b.Status.Code()}
	if n := len(s.rounds); n > 0 && s.rounds[n-1] == b.Round { // those of a round stand together
		x.round = int32(n - 1)
	} else if k := slices.Index(s.rounds, b.Round); k >= 0 {
		x.round = int32(k)
	} else {
		x.round, s.rounds = int32(n), append(s.rounds, b.Round)
	}
	for bit, is := range [...]bool{b.Compared, b.Judged, b.HasErrors, b.IsOrigin, b.Downstream, b.Known, b.Links} {
		if is {
			x.flags |= 1 << bit
		}
	}
	return x
}

// Len is the number of rows.
func (s *rowStore) Len() int { return len(s.at) }

// Row reads a row. After an error it is an empty one.
func (s *rowStore) Row(i int) *record.Row {
	kept := &s.recent[i%len(s.recent)]
	if kept.row != nil && kept.index == i {
		return kept.row
	}
	b := make([]byte, s.size[i])
	err := s.log.ReadAt(b, s.at[i])
	var row *record.Row
	if err == nil {
		row, err = record.DecodeRow(b)
	}
	if err != nil {
		if s.err == nil {
			s.err = err
		}
		return &record.Row{Status: record.Error}
	}
	kept.row, kept.index = row, i
	return row
}

// Brief is what is known of a row without reading it.
func (s *rowStore) Brief(i int) record.Brief {
	x := &s.briefs[i]
	return record.Brief{Status: x.status.Status(), Round: s.rounds[x.round], Order: int(x.order), Compared: x.flags&flagCompared != 0, Judged: x.flags&flagJudged != 0,
		HasErrors: x.flags&flagErrors != 0, IsOrigin: x.flags&flagOrigin != 0, Downstream: x.flags&flagDownstream != 0,
		Known: x.flags&flagKnown != 0, Links: x.flags&flagLinks != 0}
}

// Err is the first error of reading or writing.
func (s *rowStore) Err() error { return s.err }

// Close gives the rows up.
func (s *rowStore) Close() error { return s.log.Close() }

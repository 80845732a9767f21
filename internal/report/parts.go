package report

import (
	"io"

	"dumptool/internal/lang"
	"dumptool/internal/shard"
)

// partRow is a part of a shard, or a shard without one.
type partRow struct {
	shard int
	of    int
	part  *shard.Part // nil where it is missing
}

// partStates are the states of parts in both languages.
var partStates = map[shard.State]lang.Text{
	shard.Complete: {EN: "complete", ZH: "完整"},
	shard.Cut:      {EN: "cut", ZH: "被截断"},
	shard.Damaged:  {EN: "damaged", ZH: "已损坏"},
	shard.Foreign:  {EN: "foreign", ZH: "不属于本次"},
	shard.Doubled:  {EN: "doubled", ZH: "重复"},
}

// partsTable lists parts, then the shards that are missing.
func partsTable(l *shard.Listing) Table[partRow] {
	t := Table[partRow]{Columns: []Column[partRow]{
		numbers("shard", func(r partRow) any {
			if r.of == 0 {
				return nil
			}
			return r.shard
		}).titled("SHARD", "分片"),
		words("state", func(r partRow) lang.Text {
			if r.part == nil {
				return lang.Text{EN: "missing", ZH: "缺失"}
			}
			return partStates[r.part.State]
		}).titled("STATE", "状态"),
		numbers("rows", func(r partRow) any {
			if r.part == nil || r.part.State != shard.Complete {
				return nil
			}
			return r.part.Rows
		}).titled("ROWS", "行数"),
		numbers("bytes", func(r partRow) any {
			if r.part == nil {
				return nil
			}
			return r.part.Bytes
		}).titled("BYTES", "字节").ranked(2),
		words("file", func(r partRow) string {
			if r.part == nil {
				return ""
			}
			return r.part.Path
		}).titled("FILE", "文件").ranked(1),
	}}
	for i := range l.Parts {
		p := &l.Parts[i]
		t.Rows = append(t.Rows, partRow{p.Head.Shard, p.Head.Of, p})
	}
	for _, i := range l.Missing {
		t.Rows = append(t.Rows, partRow{shard: i, of: l.Head.Of})
	}
	return t
}

// WriteParts prints the parts of shards as a table.
func (t Text) WriteParts(w io.Writer, l *shard.Listing) error {
	p := t.to(w)
	p.table("", partsTable(l).Grid(p.Lang).Fit(p.Width))
	return p.err
}

package hpaa

import (
	"dumptool/internal/batch"
	"dumptool/internal/lang"
)

// Messages are what is to be said about what was imported: a line for each output that
// has no array, and the files that are no pieces.
func (r *Result) Messages() []batch.Message {
	var all []batch.Message
	for _, w := range r.Warnings {
		all = append(all, batch.Warnf("%s", "%s", w))
	}
	var strange []string
	for _, o := range r.Others {
		all = append(all, batch.Debug("not imported", "file", o.File, "why", o.Why.String()))
		strange = append(strange, o.File)
	}
	switch {
	case r.Misfits > 0:
		all = append(all, batch.Warnf("%s with names that do not fit the pattern: %s", "%s 的名称不符合模板：%s",
			lang.CountText(r.Misfits, "file", "个文件"), lang.FirstNames(strange[:r.Misfits])))
	case len(strange) > 0:
		all = append(all, batch.Infof("%s left out: %s", "%s 未导入：%s", lang.CountText(len(strange), "file", "个文件"), lang.FirstNames(strange)))
	}
	for _, row := range r.Rows {
		for _, note := range row.Notes {
			all = append(all, batch.Debug(note, "output", row.Label))
		}
		if row.PieceError == nil {
			continue
		}
		all = append(all, batch.Errorf("%s: %s: %s", "%s：%s：%s", row.Label, string(row.Code), row.Text))
		if exists(row.Path) {
			all = append(all, batch.Warnf("%s is there from before and was not written again", "%s 是以前的文件，本次没有重新写入", row.Path))
		}
	}
	return all
}

// Outcome is how an import ended that wrote to the folder out. ignoreOthers says that
// files with other names do not count.
func (r *Result) Outcome(out string, ignoreOthers bool) batch.Outcome {
	written, failed, pieces := 0, 0, 0
	for _, row := range r.Rows {
		if row.PieceError != nil {
			failed++
			continue
		}
		written++
		pieces += len(row.Pieces)
	}
	o := batch.Outcome{}
	switch {
	case len(r.Rows) == 0 && len(r.Read) > 0:
		return batch.Outcomef(batch.Nothing, "all pieces were left out (%s; --skip-keys, --exclude-node-list, --round)", "全部分片都未选中（%s；--skip-keys、--exclude-node-list、--round）",
			lang.CountText(len(r.Read), "piece", "个分片"))
	case len(r.Rows) == 0 && r.Misfits > 0:
		return batch.Outcomef(batch.Nothing, "no piece found: no name of %s fits the pattern", "没有找到分片：%s 的名称都不符合模板", lang.CountText(r.Misfits, "file", "个文件"))
	case len(r.Rows) == 0:
		return batch.Outcomef(batch.Nothing, "no piece found", "没有找到分片")
	case failed > 0:
		o = batch.Outcomef(batch.Incomplete, "%d of %d tensors could not be imported", "%[2]d 个张量中 %[1]d 个未能导入", failed, len(r.Rows))
	case r.Misfits > 0 && !ignoreOthers:
		o = batch.Outcomef(batch.Incomplete, "%s with other names (--ignore-others leaves them out)", "%s 的名称不符合模板（--ignore-others 可忽略）", lang.CountText(r.Misfits, "file", "个文件"))
	}
	if written > 0 {
		o.Messages = append(o.Messages, batch.Infof("%s written to %s from %s", "已由 %[3]s得到 %[1]s，写入 %[2]s",
			lang.CountText(written, "tensor", "个张量"), out, lang.CountText(pieces, "piece", "个分片")))
	}
	return o
}

// Lacking are the pieces of which nothing will say the shape or the element type: not
// their description, the options, a header or a reference.
func (o *Options) Lacking(found *Found) []string {
	var files []string
	for _, p := range found.Pieces {
		encoding := p.Encoding
		if encoding == "" {
			encoding = o.Encoding
		}
		header := encoding == Npy || (encoding == "" || encoding == Auto) && isNpyName(p.File)
		if !header && o.Reference == nil && (p.Shape == nil && o.shapeOf(o.Filter.Rename(p.Node), p.Node) == nil || p.DType == 0 && o.DType == 0) {
			files = append(files, p.File)
		}
	}
	return files
}

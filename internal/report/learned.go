package report

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"dumptool/internal/hpaa"
	"dumptool/internal/lang"
	"dumptool/internal/ui"
)

// WriteLearned writes a description of pieces that was found: what was compared, and
// the flags of an import with it.
func (t Text) WriteLearned(w io.Writer, l *hpaa.Learned) error {
	var b strings.Builder
	b.WriteString(t.of(lang.Sayf("%s from %s: all %d bytes agree.\n", "由 %[2]s得到 %[1]s：全部 %[3]d 字节一致。\n",
		lang.CountText(l.Arrays, "array", "个数组"), lang.CountText(l.Pieces, "piece", "个分片"), l.Bytes)))
	b.WriteString("  " + ui.Escape(lang.ShellLine(l.Flags())) + "\n")
	for _, node := range slices.Sorted(maps.Keys(l.Axes)) {
		fmt.Fprintf(&b, t.say("%s is joined on axis %d: describe it by --pieces, with axis\n", "%s 在轴 %d 上拼接：请用 --pieces 描述，并给出 axis\n"), ui.Escape(node), l.Axes[node])
	}
	if len(l.Alone) > 0 {
		fmt.Fprintf(&b, t.say("Without pieces: %s\n", "没有分片：%s\n"), ui.Escape(lang.FirstNames(l.Alone)))
	}
	if len(l.Others) > 0 {
		fmt.Fprintf(&b, t.say("Not used: %s\n", "未使用：%s\n"), ui.Escape(lang.FirstNames(l.Others)))
	}
	_, err := io.WriteString(w, b.String())
	return err
}

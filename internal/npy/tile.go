package npy

// minLines is the number of lines to transpose at once, so that each row of the
// panel gets a run of elements.
const minLines = 16

// tiling is how a panel is cut into tiles.
type tiling struct {
	rows, lines int64 // at most, in a tile
	// dense tiles are read with everything that lies between their elements;
	// the elements of other tiles are read one run at a time.
	dense bool
}

// tile is a part of a panel in the order of the file: some rows of some lines.
type tile struct {
	buf         []byte
	rows, lines int64
	rowStep     int64 // bytes in buf from row to row
	lineStep    int64 // bytes in buf from line to line
}

// plan decides how panels are read: in one piece where the gaps between the
// elements are small, unless the runs are long enough to be read by themselves.
func (g *gatherer) plan(lim limits) tiling {
	between := g.step * g.split // elements from line to line
	length := (g.rows-1)*g.step + 1
	gap, stage := int64(lim.gap), int64(lim.stage)
	within := (g.step-1)*g.size <= gap
	across := within && (between-length)*g.size <= gap
	if !within || g.step == 1 && (!across || length*g.size > gap) {
		return tiling{g.rows, max(minLines, stage/(g.rows*g.size)), false}
	}
	rows := min(g.rows, max(1, stage/(g.step*g.size)))
	if across && rows == g.rows {
		return tiling{rows, max(1, stage/(between*g.size)), true}
	}
	return tiling{rows, 1, true}
}

// readTile fills the tile whose first element is at from in the file.
func (g *gatherer) readTile(from int64) error {
	t := &g.tile
	between := g.step * g.split
	if g.tiles.dense {
		t.rowStep, t.lineStep = g.step*g.size, between*g.size
		t.buf = resize(t.buf, (t.lines-1)*t.lineStep+(t.rows-1)*t.rowStep+g.size)
		return readFull(g.r, t.buf, from*g.size)
	}
	t.rowStep, t.lineStep = g.size, t.rows*g.size
	t.buf = resize(t.buf, t.lines*t.lineStep)
	run := int64(1)
	if g.step == 1 {
		run = t.rows
	}
	dst := t.buf
	for line := range t.lines {
		for row := int64(0); row < t.rows; row += run {
			at := from + line*between + row*g.step
			if err := readFull(g.r, dst[:run*g.size], at*g.size); err != nil {
				return err
			}
			dst = dst[run*g.size:]
		}
	}
	return nil
}

// moveTile transposes the tile into rows of the panel, where its lines are the
// given columns.
func (g *gatherer) moveTile(panel []byte, columns []int64) {
	t := &g.tile
	width := g.lines
	if t.lines >= minLines {
		for r := range t.rows {
			move(panel[r*width*g.size:], t.buf[r*t.rowStep:], columns, t.lineStep, g.size)
		}
		return
	}
	var rows [512]int64
	for i := range rows {
		rows[i] = int64(i) * width
	}
	for r := int64(0); r < t.rows; r += int64(len(rows)) {
		n := min(t.rows-r, int64(len(rows)))
		for line, column := range columns {
			from := t.buf[int64(line)*t.lineStep+r*t.rowStep:]
			move(panel[(r*width+column)*g.size:], from, rows[:n], t.rowStep, g.size)
		}
	}
}

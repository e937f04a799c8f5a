//! One picture of all measures: how much of each promise is used up.

use super::results::Row;

const LEFT: f64 = 470.0;
/// Where 100 % stands.
const FULL: f64 = 300.0;
const WIDTH: f64 = 920.0;
const LINE: f64 = 24.0;
/// A bar ends here, whatever it stands for.
const LONGEST: f64 = 1.35;

/// A bar for each measure, and a line where the promise ends.
pub(super) fn bars(rows: &[Row]) -> String {
    let height = LINE * (rows.len() as f64 + 2.0);
    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {height}\" \
         font-family=\"sans-serif\" font-size=\"13\">\n<rect width=\"100%\" height=\"100%\" fill=\"#ffffff\"/>\n"
    );
    for (index, row) in rows.iter().enumerate() {
        let y = LINE * (index as f64 + 1.0);
        let share = row.share();
        let width = share.min(LONGEST) * FULL;
        let colour = if share <= 1.0 { "#2f7d5b" } else { "#b3402e" };
        let told = if share.is_finite() { format!("{:.0} %", share * 100.0) } else { "not 0".to_owned() };
        svg.push_str(&format!(
            "<text x=\"{:.0}\" y=\"{:.0}\" text-anchor=\"end\" fill=\"#222222\">{}</text>\n\
             <rect x=\"{LEFT:.0}\" y=\"{:.0}\" width=\"{width:.1}\" height=\"14\" fill=\"{colour}\"/>\n\
             <text x=\"{:.1}\" y=\"{:.0}\" fill=\"#222222\">{told}</text>\n",
            LEFT - 8.0,
            y + 12.0,
            escaped(&row.measure),
            y,
            LEFT + width + 6.0,
            y + 12.0,
        ));
    }
    svg.push_str(&format!(
        "<line x1=\"{0:.0}\" y1=\"{LINE:.0}\" x2=\"{0:.0}\" y2=\"{1:.0}\" stroke=\"#222222\" stroke-dasharray=\"4 3\"/>\n\
         <text x=\"{0:.0}\" y=\"{2:.0}\" text-anchor=\"middle\" fill=\"#222222\">target</text>\n</svg>\n",
        LEFT + FULL,
        height - LINE,
        height - 8.0,
    ));
    svg
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bar_is_as_long_as_the_share_and_red_beyond_it() {
        let svg = bars(&[Row::at_most("half <x>", 2.0, "", 1.0), Row::at_most("double", 1.0, "", 2.0)]);
        assert!(
            svg.contains("half &lt;x&gt;") && svg.contains("width=\"150.0\"") && svg.contains("50 %"),
            "{svg}"
        );
        assert!(svg.contains("width=\"405.0\"") && svg.contains("#b3402e") && svg.contains("200 %"), "{svg}");
    }
}

//! Draws where the predictions of different models are uncertain, and why: a picture for each of three toys, a line in it for each model.
//!
//! ```text
//! cargo run --release --example evidence_maps                  # into docs/pictures
//! cargo run --release --example evidence_maps -- FOLDER
//! ```

#![allow(clippy::print_stdout)]

use std::error::Error;
use std::f64::consts::PI;
use std::path::PathBuf;

use hedgerow::core::rng::{Purpose, Rng};
use hedgerow::core::synth::{Generator, KnownParams, Problem};
use hedgerow::core::{
    Budget, ClassId, Dataset, Features, LabelTable, Par, Params as _, Schema, Silent, Training,
};
use hedgerow::forest::ForestParams;
use hedgerow::report::{DecisionMap, MapRows, UncertaintyMaps, UncertaintyPart};
use hedgerow::{Kind, Model, ModelParams};

const ROWS: usize = 300;
/// The size of a map in the picture, of what it is drawn as, and of the whole.
const WIDTH: f64 = 300.0;
const HEIGHT: f64 = 330.0;
const OWN_WIDTH: f64 = 460.0;
const OWN_HEIGHT: f64 = 506.0;

fn main() -> Result<(), Box<dyn Error>> {
    let folder = std::env::args_os().nth(1).map_or_else(|| PathBuf::from("docs/pictures"), PathBuf::from);
    std::fs::create_dir_all(&folder)?;
    let toys =
        [("gaussians", known(Problem::Gaussians)?), ("xor", known(Problem::Xor)?), ("banana", banana()?)];
    for (name, data) in toys {
        let path = folder.join(format!("evidence-{name}.svg"));
        let lines =
            models().into_iter().enumerate().map(|(at, (title, params))| line(&data, title, &params, at));
        let lines: Vec<String> = lines.collect::<Result<_, _>>()?;
        let (width, height) = (3.0 * WIDTH, HEIGHT * lines.len() as f64);
        let svg = format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width} {height}\" width=\"{width}\" \
             height=\"{height}\">\n{}</svg>\n",
            lines.concat()
        );
        std::fs::write(&path, svg)?;
        println!("{}", path.display());
    }
    Ok(())
}

fn models() -> Vec<(&'static str, ModelParams)> {
    vec![
        ("forest", ForestParams::default().into()),
        ("confidence forest", ForestParams { confidence: true, ..Default::default() }.into()),
        ("ivm", ModelParams::new(Kind::Ivm)),
        ("kde", ModelParams::new(Kind::Kde)),
        ("knn", ModelParams::new(Kind::Knn)),
    ]
}

/// The maps of a model, side by side.
fn line(data: &Dataset, title: &str, params: &ModelParams, at: usize) -> Result<String, Box<dyn Error>> {
    let (par, budget) = (Par::shared(), Budget::open());
    let model = Model::fit(data, params, &Training { par: &par, budget: &budget, observer: &Silent })?.model;
    let x = data.features.to_array(0..data.n_rows());
    let rows = MapRows { x: x.view(), labels: data.labels(), active: None };
    let map = DecisionMap::new(model.classifier()?, &data.schema, &rows, &par)?
        .ok_or("there is nothing to draw")?;
    let maps = UncertaintyMaps::new(&map, &model.relative_evidence()?, &par)?;
    let parts = [UncertaintyPart::Aleatoric, UncertaintyPart::Epistemic];
    let mut pictures = vec![map.to_svg(title)];
    pictures.extend(parts.map(|part| maps.to_svg(part, &part.name().to_lowercase())));
    let place = |(column, svg): (usize, &String)| {
        let inner = svg.find('>').map_or("", |end| &svg[end + 1..]);
        format!(
            "<svg x=\"{}\" y=\"{}\" width=\"{WIDTH}\" height=\"{HEIGHT}\" viewBox=\"0 0 {OWN_WIDTH} {OWN_HEIGHT}\">{inner}",
            WIDTH * column as f64,
            HEIGHT * at as f64
        )
    };
    Ok(pictures.iter().enumerate().map(place).collect())
}

fn known(problem: Problem) -> Result<Dataset, Box<dyn Error>> {
    let params = KnownParams { n_features: 2, seed: 1 }.check()?;
    Ok(Generator::known(problem, &params)?.dataset(ROWS)?)
}

/// Two bows, each around an end of the other.
fn banana() -> Result<Dataset, Box<dyn Error>> {
    let mut rng = Rng::new(1, Purpose::Data, 0);
    let mut features = Features::new(2);
    let mut labels = Vec::new();
    for row in 0..ROWS {
        let class = row % 2;
        let angle = PI * rng.unit();
        let (x, y) =
            if class == 0 { (angle.cos(), angle.sin()) } else { (1.0 - angle.cos(), 0.5 - angle.sin()) };
        features.push(&[(x + 0.15 * rng.normal()) as f32, (y + 0.15 * rng.normal()) as f32]);
        labels.push(ClassId(class as u32));
    }
    let names = LabelTable::from(vec!["0".to_string(), "1".to_string()]);
    Ok(Dataset::new(Schema { labels: names, ..Schema::unnamed(2) }, features, labels, None)?)
}
